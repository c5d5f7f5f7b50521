/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * divert.c - life in a copy of the present: calls of functions, writes. The
 * system calls it makes are refused, but for a few that touch nothing outside.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/log.h"
#include "replay/replay.h"

struct diversion {
	struct world *saved; /* the present, frozen */
	struct pos pos;
	u64 told_signal;
};

int timeline_divert(struct timeline *t)
{
	struct diversion *d;
	int err;

	if (t->diversion)
		return 0;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	breaks_disarm(t);
	err = world_fork(t->now, &d->saved);
	if (err) {
		free(d);
		return err;
	}
	d->pos = t->pos;
	d->told_signal = t->told_signal;
	t->diversion = d;
	return 0;
}

bool timeline_diverted(const struct timeline *t)
{
	return t->diversion;
}

int timeline_undivert(struct timeline *t)
{
	struct diversion *d = t->diversion;

	if (!d)
		return 0;
	ckpt_enter(t, d->saved);
	t->pos = d->pos;
	t->strayed = false;
	t->told_signal = d->told_signal;
	t->diversion = NULL;
	free(d);
	return 0;
}

int timeline_write(struct timeline *t, u32 pid, u64 addr, const void *buf, size_t n)
{
	struct thread *th = world_process(t->now, pid);

	if (!t->diversion)
		return -EPERM;
	return th ? space_write(th->space, addr, buf, n) : -ESRCH;
}

int timeline_set_regs(struct timeline *t, u32 tid, const struct regs *regs)
{
	struct thread *th = world_thread(t->now, tid ? tid : t->now->tid);

	if (!t->diversion)
		return -EPERM;
	if (!th)
		return -ESRCH;
	thread_set_regs(th, regs);
	return 0;
}

int timeline_set_xstate(struct timeline *t, u32 tid, const void *buf, size_t len)
{
	struct thread *th = world_thread(t->now, tid ? tid : t->now->tid);

	if (!t->diversion)
		return -EPERM;
	return th ? thread_set_xstate(th, buf, len) : -ESRCH;
}

/* ---- system calls of the copy ---- */

static s64 do_write(struct timeline *t, struct thread *th)
{
	const u64 *r = th->regs.r;
	u64 n = MIN(r[X86_RDX], 1UL << 16);
	u8 *buf;

	if (r[X86_RDI] != 1 && r[X86_RDI] != 2)
		return -ENOSYS;
	buf = malloc(n + 1);
	if (!buf)
		return -ENOMEM;
	if (space_read(th->space, r[X86_RSI], buf, n)) {
		free(buf);
		return -EFAULT;
	}
	if (t->opts.output)
		t->opts.output(t->opts.ctx, r[X86_RDI], buf, n);
	free(buf);
	return n;
}

static s64 pass_on(struct thread *th)
{
	const u64 *r = th->regs.r;
	s64 ret;
	int err = space_clean(th->space);

	if (!err)
		err = tracee_syscall(th->space->host, &ret, r[X86_ORIG_RAX], r[X86_RDI],
				     r[X86_RSI], r[X86_RDX], r[X86_R10], r[X86_R8],
				     r[X86_R9]);
	return err ? err : ret;
}

/* The heap of a host is a mapping like any other: let brk grow nothing. */
static s64 answer(struct timeline *t, struct thread *th)
{
	const u64 *r = th->regs.r;

	switch (r[X86_ORIG_RAX]) {
	case SYS_write:
		return do_write(t, th);
	case SYS_mmap:
		if (!(r[X86_R10] & MAP_ANONYMOUS))
			return -ENOSYS;
		return pass_on(th);
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_madvise:
		return pass_on(th);
	case SYS_gettid:
		return th->tid;
	case SYS_getpid:
		return th->pid;
	case SYS_futex:
	case SYS_rt_sigprocmask:
		return 0;
	default:
		return -ENOSYS;
	}
}

static int syscall_done(struct timeline *t, struct thread *th)
{
	struct regs r = th->regs;
	bool ends = r.r[X86_ORIG_RAX] == SYS_exit || r.r[X86_ORIG_RAX] == SYS_exit_group;

	if (ends)
		return 0;
	r.r[X86_RAX] = answer(t, th);
	r.r[X86_ORIG_RAX] = -1;
	thread_set_regs(th, &r);
	return 1;
}

static int end_diverted(struct timeline *t, struct thread *th, const struct stop_result *s,
			struct travel_result *r)
{
	r->tid = th->tid;
	r->pid = th->pid;
	switch (s->kind) {
	case STOPPED_STEP:
		r->end = TRAVEL_STEP;
		return 0;
	case STOPPED_TIME:
		r->end = TRAVEL_INTERRUPTED;
		return 0;
	case STOPPED_OTHER:
		r->end = TRAVEL_SIGNAL;
		r->sig = s->stop.sig;
		return 0;
	default:
		break;
	}
	for (size_t i = 0; i < t->n_brks; i++) {
		struct brk *b = &t->brks[i];

		if (b->armed < 0)
			continue;
		if (b->is_watch ? s->kind == STOPPED_WATCH && s->watch == b->armed
				: (s->conds >> b->armed & 1)) {
			if (b->cond && !b->cond(b->ctx, t))
				continue;
			r->id = b->id;
			r->addr = b->addr;
			r->end = b->is_watch ? TRAVEL_WATCH : TRAVEL_BREAK;
			return 0;
		}
	}
	return 1;
}

int divert_run(struct timeline *t, bool step, struct travel_result *r)
{
	struct thread *th = world_thread(t->now, t->now->tid);
	struct stops_run_opts o = {.step = step, .interrupt = t->opts.interrupt};
	struct stop_result res;
	int err;

	if (!th)
		return -ESRCH;
	for (;;) {
		err = breaks_arm(t, th, 0);
		if (!err)
			err = space_load(th, t->opts.force);
		if (!err)
			err = stops_run(th->space->stops, &o, &res);
		if (err)
			break;
		th->regs = res.regs;
		if (res.kind == STOPPED_OTHER && res.stop.kind == TRACEE_SYSCALL &&
		    syscall_done(t, th)) {
			if (!step)
				continue;
			res.kind = STOPPED_STEP;
		}
		if (res.kind == STOPPED_OTHER && res.stop.kind == TRACEE_SIGNAL &&
		    res.stop.sig == SIGCHLD)
			continue;
		err = end_diverted(t, th, &res, r);
		if (err <= 0)
			break;
	}
	breaks_disarm(t);
	return err;
}
