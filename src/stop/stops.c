/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The interface: what is asked for, kept until stops_run() arms it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "stop/internal.h"

const char *const stop_way_names[NR_STOP_WAYS] = {
	[STOP_AUTO] = "auto",
	[STOP_TRAMPOLINE] = "trampoline",
	[STOP_BPF] = "bpf",
	[STOP_PTRACE] = "ptrace",
};

int stops_new(struct stops **out, pid_t tid, enum stop_way force)
{
	struct stops *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->tid = tid;
	s->force = force;
	s->fresh = true;
	memset(s->dr_owner, DR_FREE, sizeof(s->dr_owner));
	*out = s;
	return 0;
}

void stops_free(struct stops *s)
{
	if (!s)
		return;
	if (stops_clean(s))
		log_debug("task %d: left with stops armed", s->tid);
	bpf_fini(s);
	wait_fini(s);
	free(s);
}

int stops_add(struct stops *s, const struct stop_cond *c, int *id)
{
	if (c->n_words > POINT_MAX_WORDS)
		return -EINVAL;
	for (int i = 0; i < STOPS_MAX_CONDS; i++) {
		if (s->conds[i].used)
			continue;
		s->conds[i] = (struct cond){.used = true, .c = *c};
		s->dirty = true;
		*id = i;
		return 0;
	}
	return -ENOSPC;
}

void stops_remove(struct stops *s, int id)
{
	if (id < 0 || id >= STOPS_MAX_CONDS || !s->conds[id].used)
		return;
	s->conds[id].used = false;
	s->dirty = true;
}

static int watch_exec(struct stops *s, u64 addr, int *id)
{
	for (int i = 0; i < STOPS_MAX_EXEC; i++) {
		if (s->execs[i].used)
			continue;
		s->execs[i] = (struct watch){true, WATCH_EXEC, addr, 1};
		s->dirty = true;
		*id = EXEC_WATCH_ID + i;
		return 0;
	}
	return -ENOSPC;
}

int stops_watch(struct stops *s, enum watch_kind kind, u64 addr, u32 len, int *id)
{
	if (kind == WATCH_EXEC)
		return watch_exec(s, addr, id);
	if ((len != 1 && len != 2 && len != 4 && len != 8) || addr % len ||
	    addr + len > USER_TOP)
		return -EINVAL;
	for (int i = 0; i < STOPS_MAX_WATCHES; i++) {
		int slot;

		if (s->watches[i].used)
			continue;
		slot = debugreg_alloc(s, kind, addr, len, i);
		if (slot < 0)
			return slot;
		s->watches[i] = (struct watch){true, kind, addr, len};
		s->dirty = true;
		*id = i;
		return 0;
	}
	return -ENOSPC;
}

void stops_unwatch(struct stops *s, int id)
{
	if (id >= EXEC_WATCH_ID && id < EXEC_WATCH_ID + STOPS_MAX_EXEC) {
		s->execs[id - EXEC_WATCH_ID].used = false;
		s->dirty = true;
		return;
	}
	if (id < 0 || id >= STOPS_MAX_WATCHES || !s->watches[id].used)
		return;
	s->watches[id].used = false;
	for (int i = 0; i < 4; i++)
		if (s->dr_owner[i] == id)
			debugreg_free(s, i);
	s->dirty = true;
}

u64 stops_count(struct stops *s, int id)
{
	if (id < 0 || id >= STOPS_MAX_CONDS || !s->conds[id].used)
		return 0;
	return s->conds[id].count;
}

enum stop_way stops_way(struct stops *s, int id)
{
	if (id < 0 || id >= STOPS_MAX_CONDS || !s->conds[id].used)
		return STOP_AUTO;
	return s->conds[id].way;
}

int stops_read(struct stops *s, u64 addr, void *buf, size_t n)
{
	int err = tracee_read(s->tid, addr, buf, n);

	if (!err)
		patch_hide(s, addr, buf, n);
	return err;
}

int stops_write(struct stops *s, u64 addr, const void *buf, size_t n)
{
	int err = 0;

	/* Code may be written: what is armed there is built from the old. */
	for (u32 i = 0; i < s->n_patches && !err; i++)
		if (s->patches[i].addr < addr + n && addr < s->patches[i].addr + 16)
			err = stops_clean(s);
	return err ? err : tracee_write(s->tid, addr, buf, n);
}
