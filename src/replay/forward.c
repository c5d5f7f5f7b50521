/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * forward.c - continue and step in the recording's own direction.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "replay/replay.h"

static int end_at(struct timeline *t, struct travel_result *r, enum travel_end end)
{
	struct thread *th = world_thread(t->now, t->now->tid);

	r->end = end;
	r->tid = t->now->tid;
	r->pid = th ? th->pid : 0;
	return 0;
}

static int end_brk(struct timeline *t, struct travel_result *r, const struct brk *b)
{
	r->id = b->id;
	r->addr = b->addr;
	breaks_restart(t);
	return end_at(t, r, b->is_watch ? TRAVEL_WATCH : TRAVEL_BREAK);
}

static int end_signal(struct timeline *t, struct travel_result *r, const struct event *ev)
{
	t->told_signal = ev->number;
	t->now->tid = ev->tid;
	t->pos.tid = ev->tid;
	r->sig = ev->siginfo ? ev->siginfo->si_signo : 0;
	return end_at(t, r, TRAVEL_SIGNAL);
}

/* Is @ev a signal that is about to be delivered and was not announced yet? */
static bool tells_signal(const struct timeline *t, const struct event *ev, u32 pid)
{
	return ev->type == EV_SIGNAL && (t->now->arrived || !event_runs(ev)) &&
	       t->told_signal != ev->number && (!pid || pid == ev->pid);
}

static bool wanted(const struct brk *b, struct timeline *t)
{
	return !b->cond || b->cond(b->ctx, t) != 0;
}

/* A breakpoint where an event has put the thread: nothing has run. */
static struct brk *break_here(struct timeline *t, struct thread *th, u32 pid)
{
	if (!th->fresh)
		return NULL;
	th->fresh = false;
	t->now->tid = th->tid;
	for (size_t i = 0; i < t->n_brks; i++) {
		struct brk *b = &t->brks[i];

		if (!b->is_watch && b->pid == th->pid && (!pid || pid == b->pid) &&
		    b->addr == th->regs.r[X86_RIP] && wanted(b, t))
			return b;
	}
	return NULL;
}

/* The run stopped: at what of the user's? NULL: at nothing. */
static struct brk *break_hit(struct timeline *t, struct thread *th,
			     const struct stop_result *res)
{
	struct brk *hit = NULL;

	for (size_t i = 0; i < t->n_brks; i++) {
		struct brk *b = &t->brks[i];

		if (b->armed < 0 || b->space != th->space)
			continue;
		if (b->is_watch ? res->kind == STOPPED_WATCH && res->watch == b->armed
				: (res->conds >> b->armed & 1)) {
			b->seen++;
			/* A vfork child in the same memory is not the parent. */
			if (!hit && b->pid == th->pid && wanted(b, t))
				hit = b;
		}
	}
	return hit;
}

static int place_hit(struct timeline *t, const struct brk *b)
{
	struct hop h = {.kind = HOP_PASS, .ip = b->addr, .n = b->seen};

	if (b->is_watch) {
		h.kind = HOP_WATCH;
		h.watch = b->kind;
		h.len = b->len;
	}
	return pos_now_hop(t, &h);
}

static int apply(struct timeline *t, u32 pid, struct brk **written)
{
	int err;
	const struct event *ev = session_next(t, &err);

	*written = ev ? breaks_written(t, ev, pid) : NULL;
	if (!err)
		err = session_apply(t);
	if (err)
		return err;
	pos_now_start(t);
	breaks_restart(t);
	return ckpt_lay(t);
}

/* Ctrl-C: wherever it is. A checkpoint gives the place a name. */
static int interrupted(struct timeline *t, struct travel_result *r)
{
	const struct thread *th = world_thread(t->now, t->now->tid);
	int err = 0;

	if (th && !t->diversion && !regs_equal(&th->regs, &t->pos.regs))
		err = ckpt_inside(t, false);
	breaks_restart(t);
	return err ? err : end_at(t, r, TRAVEL_INTERRUPTED);
}

/* One leg: to a stop of the user's (1), to an applied event (0). */
static int leg(struct timeline *t, u32 pid, struct travel_result *r)
{
	struct stops_run_opts o = {.budget_ns = CKPT_NS};
	struct thread *th;
	struct run_result run;
	struct brk *b;
	int err;
	const struct event *ev = session_next(t, &err);

	if (err)
		return err;
	if (!ev) {
		r->status = trace_reader_end(t->reader)->status;
		return end_at(t, r, TRAVEL_END) ?: 1;
	}
	if (tells_signal(t, ev, pid))
		return end_signal(t, r, ev) ?: 1;
	th = world_thread(t->now, ev->tid);
	if (th && event_runs(ev) && !t->now->arrived) {
		b = break_here(t, th, pid);
		if (b) {
			pos_now_start(t);
			return end_brk(t, r, b) ?: 1;
		}
		err = breaks_arm(t, th, pid);
	}
	if (!err)
		err = session_run(t, &o, &run);
	if (err)
		return err;
	if (run.end == RUN_ARRIVED) {
		t->pos.arrived = t->now->arrived;
		if (tells_signal(t, ev, pid)) {
			err = pos_now_hop(t, &(struct hop){.kind = HOP_STEP});
			return err ? err : (end_signal(t, r, ev) ?: 1);
		}
		err = apply(t, pid, &b);
		if (!err && b)
			return end_brk(t, r, b) ?: 1;
		return err;
	}
	b = break_hit(t, th, &run.res);
	if (b) {
		err = place_hit(t, b);
		return err ? err : (end_brk(t, r, b) ?: 1);
	}
	if (run.res.kind != STOPPED_TIME)
		return 0;
	err = ckpt_inside(t, false);
	breaks_restart(t);
	ckpt_thin(t);
	return err;
}

static int forward(struct timeline *t, u32 pid, struct travel_result *r)
{
	struct thread *th = world_thread(t->now, t->now->tid);
	int err;

	/* Whatever is at the present place was seen. */
	if (th)
		th->fresh = false;
	breaks_restart(t);
	do {
		if (t->opts.interrupt && *t->opts.interrupt)
			err = -EINTR;
		else
			err = leg(t, pid, r);
	} while (!err);
	breaks_disarm(t);
	if (err == -EINTR)
		return interrupted(t, r);
	return err < 0 ? err : 0;
}

/* ---- one instruction ---- */

/* The thread of the next event is @tid: let it do one instruction. */
static int step_here(struct timeline *t, const struct event *ev, struct travel_result *r)
{
	struct stops_run_opts o = {.step = true};
	u64 number = ev->number;
	bool entered = t->now->arrived;
	struct run_result run;
	struct brk *b;
	int err;

	if (tells_signal(t, ev, 0))
		return end_signal(t, r, ev) ?: 1;
	err = session_run(t, &o, &run);
	if (err)
		return err;
	if (run.end == RUN_STOP) {
		if (run.res.kind != STOPPED_STEP)
			return 0;
		err = pos_now_hop(t, &(struct hop){.kind = HOP_STEP, .n = 1});
		if (err)
			return err;
		/* Each stop is another state: the one that a signal comes at is
		 * announced as that at once. */
		if (session_at_point(t) && tells_signal(t, ev, 0)) {
			t->pos.arrived = true;
			return end_signal(t, r, ev) ?: 1;
		}
		return end_at(t, r, TRAVEL_STEP) ?: 1;
	}
	t->pos.arrived = t->now->arrived;
	ev = session_next(t, &err);
	if (!ev || ev->number != number)
		return err;
	if (tells_signal(t, ev, 0))
		return end_signal(t, r, ev) ?: 1;
	if (ev->number == t->entry_event && !entered) {
		err = pos_now_hop(t, &(struct hop){.kind = HOP_STEP});
		return err ? err : (end_at(t, r, TRAVEL_STEP) ?: 1);
	}
	bool moves = ev->has_after;

	err = apply(t, 0, &b);
	if (err)
		return err;
	return moves ? (end_at(t, r, TRAVEL_STEP) ?: 1) : 0;
}

static int step(struct timeline *t, u32 tid, struct travel_result *r)
{
	int err = 0;

	while (!err) {
		const struct event *ev = session_next(t, &err);

		if (err)
			return err;
		if (!ev || !world_thread(t->now, tid)) {
			r->status = trace_reader_end(t->reader)->status;
			return end_at(t, r, TRAVEL_END);
		}
		if (t->opts.interrupt && *t->opts.interrupt)
			return interrupted(t, r);
		if (ev->tid == tid)
			err = step_here(t, ev, r);
		else
			err = leg(t, 0, r);
	}
	breaks_disarm(t);
	if (err == -EINTR)
		return interrupted(t, r);
	return err < 0 ? err : 0;
}

int timeline_continue(struct timeline *t, u32 pid, bool backwards, struct travel_result *r)
{
	*r = (struct travel_result){0};
	if (t->diversion)
		return backwards ? -EPERM : divert_run(t, false, r);
	if (!backwards)
		window_drop(t);
	return backwards ? back_continue(t, pid, r) : forward(t, pid, r);
}

int timeline_step(struct timeline *t, u32 tid, bool backwards, struct travel_result *r)
{
	int err;

	*r = (struct travel_result){0};
	if (!tid)
		tid = t->now->tid;
	if (t->diversion)
		return backwards ? -EPERM : divert_run(t, true, r);
	if (!backwards)
		return step(t, tid, r);
	err = back_step(t, tid);
	if (err == -EINTR)
		return end_at(t, r, TRAVEL_INTERRUPTED);
	if (err && err != -ENODATA)
		return err;
	return end_at(t, r, err ? TRAVEL_BEGIN : TRAVEL_STEP);
}

int timeline_siginfo(struct timeline *t, siginfo_t *out)
{
	int err;
	const struct event *ev = session_next(t, &err);

	if (!ev || ev->type != EV_SIGNAL || !ev->siginfo || t->told_signal != ev->number)
		return err ? err : -ENODATA;
	*out = *ev->siginfo;
	return 0;
}
