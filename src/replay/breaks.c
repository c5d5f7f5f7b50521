/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * breaks.c - the user's breakpoints and watchpoints, kept over travel.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "replay/replay.h"

static int add(struct timeline *t, const struct brk *b, int *id)
{
	int err = array_reserve(&t->brks, &t->cap_brks, t->n_brks + 1, sizeof(t->brks[0]));

	if (err)
		return err;
	t->brks[t->n_brks] = *b;
	t->brks[t->n_brks].armed = -1;
	*id = t->brks[t->n_brks++].id = ++t->last_brk;
	return 0;
}

int timeline_break(struct timeline *t, u32 pid, u64 addr, timeline_cond_fn cond, void *ctx,
		   int *id)
{
	struct brk b = {.pid = pid, .addr = addr, .cond = cond, .ctx = ctx};

	return add(t, &b, id);
}

int timeline_watch(struct timeline *t, u32 pid, enum watch_kind kind, u64 addr, u32 len,
		   int *id)
{
	struct brk b = {
		.is_watch = true, .pid = pid, .kind = kind, .addr = addr, .len = len};
	size_t used = 0;

	if ((len != 1 && len != 2 && len != 4 && len != 8) || addr % len)
		return -EINVAL;
	for (size_t i = 0; i < t->n_brks; i++)
		used += t->brks[i].is_watch && t->brks[i].pid == pid;
	/* The debug registers of a process. */
	return used >= 4 ? -ENOSPC : add(t, &b, id);
}

static void disarm(struct brk *b)
{
	if (b->armed < 0)
		return;
	if (b->is_watch)
		stops_unwatch(b->space->stops, b->armed);
	else
		stops_remove(b->space->stops, b->armed);
	b->armed = -1;
}

int timeline_unbreak(struct timeline *t, int id)
{
	for (size_t i = 0; i < t->n_brks; i++) {
		if (t->brks[i].id != id)
			continue;
		disarm(&t->brks[i]);
		memmove(&t->brks[i], &t->brks[i + 1],
			(--t->n_brks - i) * sizeof(t->brks[0]));
		return 0;
	}
	return -ENOENT;
}

int breaks_arm(struct timeline *t, struct thread *th, u32 pid)
{
	int err = space_load(th, t->opts.force);

	for (size_t i = 0; !err && i < t->n_brks; i++) {
		struct brk *b = &t->brks[i];
		struct stop_cond c = {.ip = b->addr};

		if (b->pid != th->pid || (pid && pid != th->pid))
			continue;
		if (b->armed >= 0 && b->space == th->space)
			continue;
		disarm(b);
		b->space = th->space;
		if (b->is_watch)
			err = stops_watch(th->space->stops, b->kind, b->addr, b->len,
					  &b->armed);
		else
			err = stops_add(th->space->stops, &c, &b->armed);
		if (err)
			b->armed = -1;
	}
	return err;
}

void breaks_disarm(struct timeline *t)
{
	for (size_t i = 0; i < t->n_brks; i++)
		disarm(&t->brks[i]);
}

void breaks_forget(struct timeline *t, const struct space *s)
{
	for (size_t i = 0; i < t->n_brks; i++)
		if (t->brks[i].space == s)
			t->brks[i].armed = -1;
}

void breaks_restart(struct timeline *t)
{
	for (size_t i = 0; i < t->n_brks; i++)
		t->brks[i].seen = 0;
}

struct brk *breaks_written(struct timeline *t, const struct event *ev, u32 pid)
{
	for (size_t i = 0; i < t->n_brks; i++) {
		struct brk *b = &t->brks[i];

		if (!b->is_watch || b->kind == WATCH_EXEC || b->pid != ev->pid ||
		    (pid && pid != b->pid))
			continue;
		for (u32 k = 0; k < ev->n_effects; k++) {
			const struct effect *e = &ev->effects[k];

			if (e->kind == EF_MEM && e->addr < b->addr + b->len &&
			    b->addr < e->addr + e->len)
				return b;
		}
	}
	return NULL;
}
