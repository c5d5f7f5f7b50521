/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * effects.c - gather the effects of one event. Bytes are kept in one buffer
 * that may move while it grows, so pointers are set at the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/internal.h"

static void drop_names(struct effects *e)
{
	for (size_t i = 0; i < e->n_names; i++)
		free(e->names[i]);
	e->n_names = 0;
}

/* A copy of @name that lives until the event is written. */
const char *effects_name(struct effects *e, const char *name)
{
	char *copy = strdup(name);

	if (!copy ||
	    array_reserve(&e->names, &e->names_cap, e->n_names + 1, sizeof(copy))) {
		free(copy);
		e->data.err = -ENOMEM;
		return "";
	}
	return e->names[e->n_names++] = copy;
}

void effects_reset(struct effects *e, pid_t tid)
{
	drop_names(e);
	e->n = 0;
	e->tid = tid;
	wbuf_reset(&e->data);
}

void effects_fini(struct effects *e)
{
	drop_names(e);
	free(e->names);
	free(e->v);
	free(e->at);
	wbuf_free(&e->data);
}

struct effect *effects_add(struct effects *e, u8 kind, u64 addr, u64 len)
{
	if (array_reserve(&e->v, &e->cap, e->n + 1, sizeof(*e->v)) ||
	    array_reserve(&e->at, &e->at_cap, e->n + 1, sizeof(*e->at))) {
		e->data.err = -ENOMEM;
		return NULL;
	}
	e->at[e->n] = e->data.len;
	e->v[e->n] = (struct effect){.kind = kind, .addr = addr, .len = len};
	return &e->v[e->n++];
}

int effects_bytes(struct effects *e, u64 addr, const void *data, u64 len)
{
	if (!len)
		return 0;
	if (!effects_add(e, EF_MEM, addr, len))
		return -ENOMEM;
	wbuf_bytes(&e->data, data, len);
	return e->data.err;
}

/* What can be read of it: a call may be given more than is mapped. */
int effects_mem(struct effects *e, u64 addr, u64 len)
{
	struct effect *f;
	u8 *p;
	u64 got;

	if (!addr || !len || addr >= USER_TOP)
		return 0;
	f = effects_add(e, EF_MEM, addr, len);
	if (!f)
		return -ENOMEM;
	p = wbuf_grow(&e->data, len);
	if (!p)
		return -ENOMEM;
	got = tracee_read_some(e->tid, addr, p, len);
	e->data.len -= len - got;
	f->len = got;
	if (!got)
		e->n--;
	return 0;
}

int effects_nonzero(struct effects *e, u64 addr, u64 len)
{
	static const u8 zero[PAGE_BYTES];
	u8 page[PAGE_BYTES];
	int err = 0;

	for (u64 a = addr; a < addr + len && !err; a += sizeof(page)) {
		if (tracee_read_some(e->tid, a, page, sizeof(page)) != sizeof(page))
			continue;
		if (memcmp(page, zero, sizeof(page)))
			err = effects_bytes(e, a, page, sizeof(page));
	}
	return err;
}

int effects_output(struct effects *e, int fd, u64 addr, u64 len)
{
	struct effect *f = effects_add(e, EF_OUTPUT, addr, len);

	if (!f)
		return -ENOMEM;
	f->output.fd = fd;
	return 0;
}

void effects_seal(struct effects *e, struct event *ev)
{
	for (size_t i = 0; i < e->n; i++)
		if (e->v[i].kind == EF_MEM)
			e->v[i].mem.data = e->data.data + e->at[i];
	ev->effects = e->v;
	ev->n_effects = e->n;
}
