/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * timeline.c - open a recording, and what can be asked about the present.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "replay/replay.h"

/* A ptrace stop costs ten times as much when it crosses to another CPU. */
static void pin(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu < 0 ? 0 : cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		log_debug("cannot pin to CPU %d", cpu);
}

/* Up to the first program: its EV_START and EV_EXEC run nothing. */
static int open_first(struct timeline *t)
{
	const struct event *ev;
	int err;

	while ((ev = session_next(t, &err)) && !event_runs(ev)) {
		bool exec = ev->type == EV_EXEC;

		err = session_apply(t);
		if (err || exec)
			return err;
	}
	return err;
}

int timeline_open(struct timeline **out, const char *dir, const struct timeline_opts *o)
{
	struct timeline *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->opts = *o;
	t->point_cond = -1;
	err = trace_reader_open(&t->reader, dir);
	if (err)
		goto fail;
	pin();
	err = host_seed(&t->seed);
	if (err)
		goto fail;
	err = trace_cursor_new(t->reader, &t->cursor);
	t->cursor_at = 1;
	t->now = world_new();
	if (!err && !t->now)
		err = -ENOMEM;
	if (!err)
		err = open_first(t);
	if (err)
		goto fail;
	t->begin = t->now->event;
	pos_now_start(t);
	err = ckpt_lay(t);
	if (err)
		goto fail;
	*out = t;
	return 0;
fail:
	timeline_close(t);
	return err;
}

void timeline_close(struct timeline *t)
{
	if (!t)
		return;
	if (timeline_undivert(t))
		log_debug("the diversion does not end");
	window_drop(t);
	free(t->win.r);
	free(t->brks);
	free(t->late);
	ckpt_free_all(t);
	world_free(t->now);
	host_kill(t->seed);
	if (t->cursor)
		trace_cursor_free(t->cursor);
	if (t->reader)
		trace_reader_free(t->reader);
	free(t);
}

struct trace_reader *timeline_reader(struct timeline *t)
{
	return t->reader;
}

void timeline_where(const struct timeline *t, struct timeline_where *w)
{
	const struct thread *th = world_thread(t->now, t->now->tid);
	const struct event *ev = t->next;

	*w = (struct timeline_where){
		.event = t->now->event,
		.events = trace_reader_end(t->reader)->events,
		.tid = t->now->tid,
		.pid = th ? th->pid : 0,
		.time_ns = t->now->time_ns,
	};
	w->at_start = w->event == t->begin && pos_is_start(&t->pos);
	w->at_end = w->event >= w->events;
	w->in_syscall =
		t->now->arrived && ev && (ev->type == EV_SYSCALL || ev->type == EV_ENTER);
}

size_t timeline_threads(const struct timeline *t, u32 pid, u32 *tids, u32 *pids, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < t->now->n_threads; i++) {
		const struct thread *th = t->now->threads[i];

		if (pid && th->pid != pid)
			continue;
		if (found < n && tids)
			tids[found] = th->tid;
		if (found < n && pids)
			pids[found] = th->pid;
		found++;
	}
	return found;
}

static struct thread *find(const struct timeline *t, u32 tid)
{
	return world_thread(t->now, tid ? tid : t->now->tid);
}

int timeline_regs(struct timeline *t, u32 tid, struct regs *out)
{
	struct thread *th = find(t, tid);

	if (!th)
		return -ESRCH;
	*out = th->regs;
	return 0;
}

int timeline_xstate(struct timeline *t, u32 tid, void *buf, size_t *len)
{
	struct thread *th = find(t, tid);

	return th ? thread_get_xstate(th, buf, len) : -ESRCH;
}

int timeline_read(struct timeline *t, u32 pid, u64 addr, void *buf, size_t n)
{
	struct thread *th = world_process(t->now, pid);

	return th ? space_read(th->space, addr, buf, n) : -ESRCH;
}

const struct maps *timeline_maps(struct timeline *t, u32 pid)
{
	struct thread *th = world_process(t->now, pid);

	return th ? &th->space->maps : NULL;
}

const char *timeline_exe(struct timeline *t, u32 pid)
{
	struct thread *th = world_process(t->now, pid);

	return th ? th->space->exe : NULL;
}

const u8 *timeline_auxv(struct timeline *t, u32 pid, size_t *len)
{
	struct thread *th = world_process(t->now, pid);

	*len = th ? th->space->auxv_len : 0;
	return th ? th->space->auxv : NULL;
}

int timeline_run_out(struct timeline *t, s32 *status)
{
	int err;

	do
		err = session_step_event(t);
	while (err > 0);
	pos_now_start(t);
	*status = trace_reader_end(t->reader)->status;
	return err;
}
