/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session.c - forwards, event by event: run the thread to where the event
 * says, check that it is there as recorded, apply what then changed.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "replay/replay.h"

/* What an event costs to apply, about, for the spacing of checkpoints. */
#define EVENT_NS 5000

const struct event *session_next(struct timeline *t, int *err)
{
	u64 want = t->now->event + 1;
	int got;

	*err = 0;
	if (t->next && t->next->number == want)
		return t->next;
	if (t->cursor_at != want) {
		*err = trace_cursor_seek(t->cursor, want);
		if (*err == -ERANGE) {
			*err = 0;
			return NULL;
		}
		if (*err)
			return NULL;
		t->cursor_at = want;
	}
	got = trace_cursor_next(t->cursor, &t->next);
	if (got <= 0) {
		t->next = NULL;
		*err = got;
		return NULL;
	}
	t->cursor_at++;
	return t->next;
}

bool session_is_point(const struct event *ev)
{
	return ev->type == EV_SCHED || (ev->type == EV_SIGNAL && ev->where == WHERE_POINT);
}

static bool is_late(const struct timeline *t, u64 number)
{
	for (size_t i = 0; i < t->n_late; i++)
		if (t->late[i] == number)
			return true;
	return false;
}

bool session_make_late(struct timeline *t, u64 number)
{
	struct trace_cursor *c;
	const struct event *ev;
	bool ok = false;

	if (is_late(t, number) ||
	    array_reserve(&t->late, &t->cap_late, t->n_late + 1, sizeof(t->late[0])) ||
	    trace_cursor_new(t->reader, &c))
		return false;
	if (!trace_cursor_seek(c, number) && trace_cursor_next(c, &ev) == 1)
		ok = session_is_point(ev);
	trace_cursor_free(c);
	if (ok)
		t->late[t->n_late++] = number;
	return ok;
}

void session_forget_late(struct timeline *t, u64 number)
{
	for (size_t i = 0; i < t->n_late; i++)
		if (t->late[i] == number)
			t->late[i] = t->late[--t->n_late];
}

void session_pass(struct timeline *t)
{
	t->now->arrived = false;
	t->now->passed++;
	t->now->passing = true;
}

/* The thread stands at the point of @ev: has it arrived? */
static bool arrives(struct timeline *t, const struct event *ev)
{
	if (!t->now->passed && is_late(t, ev->number))
		session_pass(t);
	else
		t->now->arrived = true;
	return t->now->arrived;
}

bool event_runs(const struct event *ev)
{
	switch (ev->type) {
	case EV_SYSCALL:
	case EV_ENTER:
	case EV_TRAP:
	case EV_SCHED:
		return true;
	case EV_SIGNAL:
		return ev->where != WHERE_HERE;
	default:
		return false;
	}
}

struct thread *session_thread(struct timeline *t)
{
	int err;
	const struct event *ev = session_next(t, &err);
	struct thread *th;

	if (ev || err)
		return ev ? world_thread(t->now, ev->tid) : NULL;
	/* A recording that was cut ends while a thread runs. */
	th = world_thread(t->now, t->tail ? t->tail : t->now->tid);
	return !th || th->in_call || trace_reader_end(t->reader)->clean ? NULL : th;
}

void session_forget(struct timeline *t)
{
	if (t->point_cond >= 0)
		stops_remove(t->point_space->stops, t->point_cond);
	t->point_cond = -1;
	/* What the cursor gave last stays good until it moves. */
	if (t->next && t->next->number != t->now->event + 1)
		t->next = NULL;
}

static int arm_point(struct timeline *t, const struct event *ev, struct thread *th)
{
	int err;

	if (t->point_cond >= 0)
		return 0;
	err = target_init(&t->point, &ev->point, th);
	if (err == -ENOENT)
		return diverge(t, ev, &th->regs, "no code at the point", "rip %#" PRIx64,
			       ev->point.regs.r[X86_RIP]);
	if (!err)
		err = stops_add(th->space->stops, &t->point.cond, &t->point_cond);
	if (err)
		return err;
	t->point_space = th->space;
	return 0;
}

static void describe(const struct stop_result *res, char *out, size_t n)
{
	switch (res->stop.kind) {
	case TRACEE_SYSCALL:
		snprintf(out, n, "system call %" PRId64, (s64)res->regs.r[X86_ORIG_RAX]);
		break;
	case TRACEE_SIGNAL:
		snprintf(out, n, "signal %d (%s)", res->stop.sig, strsignal(res->stop.sig));
		break;
	case TRACEE_KILLED:
		snprintf(out, n, "the task was killed by signal %d", res->stop.sig);
		break;
	default:
		snprintf(out, n, "wait status %#x", res->stop.status);
	}
}

static bool is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL ||
	       sig == SIGTRAP || sig == SIGSYS;
}

/* Is what the thread stopped with what @ev waits for? */
static bool expected_stop(const struct event *ev, const struct tracee_stop *s)
{
	switch (ev->type) {
	case EV_SYSCALL:
	case EV_ENTER:
		return s->kind == TRACEE_SYSCALL;
	case EV_TRAP:
		return s->kind == TRACEE_SIGNAL && s->sig == SIGSEGV;
	case EV_SIGNAL:
		return ev->where == WHERE_FAULT && s->kind == TRACEE_SIGNAL &&
		       ev->siginfo && s->sig == ev->siginfo->si_signo;
	default:
		return false;
	}
}

static int arrive(struct timeline *t, const struct event *ev, struct thread *th,
		  const struct stop_result *res)
{
	char got[64], diff[400];

	if (t->trial && session_is_point(ev))
		return -ENOENT;
	if (!expected_stop(ev, &res->stop)) {
		describe(res, got, sizeof(got));
		return diverge(t, ev, &th->regs,
			       session_is_point(ev) ? "the point was not met"
						    : "something else came",
			       "%s", got);
	}
	/* `syscall` copies the flags to r11: a single step would be seen there. */
	if (res->stop.kind == TRACEE_SYSCALL && !(ev->regs.r[X86_R11] & 0x100))
		th->regs.r[X86_R11] &= ~0x100UL;
	if (!regs_equal(&ev->regs, &th->regs)) {
		regs_diff(&ev->regs, &th->regs, diff, sizeof(diff));
		return diverge(t, ev, &th->regs, "registers differ", "%s", diff);
	}
	if (res->stop.kind == TRACEE_SYSCALL &&
	    ev->regs.r[X86_ORIG_RAX] != th->regs.r[X86_ORIG_RAX])
		return diverge(t, ev, &th->regs, "another system call",
			       "number %" PRId64 ", recorded %" PRId64,
			       (s64)th->regs.r[X86_ORIG_RAX],
			       (s64)ev->regs.r[X86_ORIG_RAX]);
	t->now->arrived = true;
	return 0;
}

/*
 * One stop of the thread seen to. 1: go on running, 0: @r is filled.
 */
static int see_stop(struct timeline *t, const struct event *ev, struct thread *th,
		    struct run_result *r)
{
	struct stop_result *res = &r->res;
	int err;

	if (t->point_cond >= 0 && res->kind == STOPPED_COND &&
	    (res->conds & 1ULL << t->point_cond)) {
		res->conds &= ~(1ULL << t->point_cond);
		/* To the point's iteration of a rep instruction only when what else
		 * waits for an earlier one has been seen to: session_run(). */
		err = t->point.rep_len && res->conds ? 0 : target_check(t, &t->point, th);
		if (err < 0)
			return err;
		if (err && arrives(t, ev) && !res->conds) {
			r->end = RUN_ARRIVED;
			return 0;
		}
		if (!res->conds)
			return 1;
	}
	if (res->kind == STOPPED_TIME && t->opts.interrupt && *t->opts.interrupt)
		return -EINTR;
	if (res->kind != STOPPED_OTHER) {
		r->end = RUN_STOP;
		return 0;
	}
	/* SIGCHLD of a forked copy and the like: nothing that the program did. */
	if (res->stop.kind == TRACEE_SIGNAL && !is_fault(res->stop.sig))
		return 1;
	r->end = RUN_ARRIVED;
	return arrive(t, ev, th, res);
}

bool session_at_point(struct timeline *t)
{
	int err;
	const struct event *ev = session_next(t, &err);
	struct thread *th = ev ? world_thread(t->now, ev->tid) : NULL;

	if (!th || t->point_cond < 0 || !session_is_point(ev))
		return false;
	if (!t->now->passing && target_here(&t->point, th) == 1)
		return arrives(t, ev);
	return t->now->arrived;
}

/*
 * Nothing says where a thread goes that ran when the recording was cut: up to
 * its next system call or fault, and no farther.
 */
static int run_tail(struct timeline *t, struct stops_run_opts *o, struct run_result *r)
{
	struct thread *th = session_thread(t);
	int err;

	r->end = RUN_OVER;
	if (!th || t->now->arrived)
		return 0;
	t->now->tid = th->tid;
	err = space_load(th, t->opts.force);
	if (!err)
		err = stops_run(th->space->stops, o, &r->res);
	if (err)
		return err;
	t->strayed = true;
	th->regs = r->res.regs;
	if (r->res.kind == STOPPED_TIME && t->opts.interrupt && *t->opts.interrupt)
		return -EINTR;
	if (r->res.kind == STOPPED_OTHER)
		t->now->arrived = true;
	else
		r->end = RUN_STOP;
	return 0;
}

int session_run(struct timeline *t, const struct stops_run_opts *opts, struct run_result *r)
{
	struct stops_run_opts o = *opts;
	const struct event *ev;
	struct thread *th;
	int err;

	o.interrupt = t->opts.interrupt;
	ev = session_next(t, &err);
	if (err)
		return err;
	if (!ev)
		return run_tail(t, &o, r);
	r->end = RUN_ARRIVED;
	if (t->now->arrived || !event_runs(ev))
		return 0;
	th = world_thread(t->now, ev->tid);
	if (!th)
		return diverge(t, ev, NULL, "no such thread", "of process %u", ev->pid);
	err = space_load(th, t->opts.force);
	if (!err && session_is_point(ev))
		err = arm_point(t, ev, th);
	if (err)
		return err;
	t->now->tid = th->tid;
	/* Nothing need run: preempted again at once, or further on in the same
	 * rep instruction, which is not arrived at again. */
	if (session_is_point(ev) && !t->now->passing && target_near(&t->point, th)) {
		err = o.step ? target_here(&t->point, th) : target_check(t, &t->point, th);
		if (err < 0 || (err && arrives(t, ev)))
			return MIN(err, 0);
	}
	do {
		u64 from = now_ns();

		err = space_load(th, t->opts.force);
		if (!err)
			err = stops_run(th->space->stops, &o, &r->res);
		if (err)
			return err;
		t->strayed = true;
		t->now->passing = false;
		t->now->cost += now_ns() - from;
		th->regs = r->res.regs;
		th->fresh = false;
		o.look_here = false;
		err = see_stop(t, ev, th, r);
	} while (err > 0);
	return err;
}

/* ---- the event itself ---- */

static int new_space(struct timeline *t, struct space **s)
{
	pid_t host;
	int err = host_fork(t->seed, &host);

	return err ? err : world_add_space(t->now, host, s);
}

static int apply_exec(struct timeline *t, const struct event *ev, struct thread **out)
{
	struct world *w = t->now;
	struct thread *th = world_thread(w, ev->tid);
	struct space *s, *old;
	int err;

	err = new_space(t, &s);
	if (err)
		return err;
	if (th) {
		old = th->space;
		if (old->loaded == th)
			old->loaded = NULL;
		th->space = s;
		s->refs++;
		space_put(w, old);
	} else {
		err = world_add_thread(w, ev->tid, ev->pid, s, &th);
		if (err)
			return err;
	}
	free(th->xstate);
	th->xstate = NULL;
	th->pid = ev->pid;
	th->in_call = false;
	s->exe = strdup(ev->exe ? ev->exe : "");
	s->auxv = malloc(ev->auxv_len + 1);
	if (!s->exe || !s->auxv)
		return -ENOMEM;
	memcpy(s->auxv, ev->auxv ? ev->auxv : (const u8 *)"", ev->auxv_len);
	s->auxv_len = ev->auxv_len;
	*out = th;
	return 0;
}

static int apply_start(struct timeline *t, const struct event *ev, struct thread **out)
{
	struct space *s;
	int err;

	*out = world_thread(t->now, ev->tid);
	if (*out)
		return 0;
	err = new_space(t, &s);
	return err ? err : world_add_thread(t->now, ev->tid, ev->pid, s, out);
}

static int apply_change(struct timeline *t, const struct event *ev, struct thread *th)
{
	int err = apply_effects(t, th, ev);

	if (!err && ev->has_after) {
		thread_set_regs(th, &ev->regs_after);
		th->fresh = true;
	}
	if (!err && ev->xstate)
		err = thread_set_xstate(th, ev->xstate, ev->xstate_len);
	return err;
}

int session_apply(struct timeline *t)
{
	struct world *w = t->now;
	const struct event *ev;
	struct thread *th;
	int err;

	ev = session_next(t, &err);
	if (!ev)
		return err ? err : -ENODATA;
	th = world_thread(w, ev->tid);
	if (th && th->space->refs == 1 && (ev->type == EV_EXEC || ev->type == EV_EXIT))
		breaks_forget(t, th->space);
	if (ev->type == EV_EXEC)
		err = apply_exec(t, ev, &th);
	else if (ev->type == EV_START)
		err = apply_start(t, ev, &th);
	if (err)
		return err;
	if (!th)
		return diverge(t, ev, NULL, "no such thread", "of process %u", ev->pid);
	err = apply_change(t, ev, th);
	if (err)
		return err;
	if (ev->type == EV_ENTER || ev->type == EV_LEAVE)
		th->in_call = ev->type == EV_ENTER;
	w->tid = ev->tid;
	w->arrived = false;
	w->passed = 0;
	w->passing = false;
	w->event = ev->number;
	w->time_ns = ev->time_ns;
	w->cost += EVENT_NS;
	w->start_cost = w->cost;
	t->output_done = MAX(t->output_done, ev->number);
	session_forget(t);
	if (ev->type == EV_EXIT)
		world_del_thread(w, th);
	if (t->opts.progress && !(w->event & 63))
		t->opts.progress(t->opts.ctx, w->event,
				 trace_reader_end(t->reader)->events);
	return 0;
}

int session_step_event(struct timeline *t)
{
	struct stops_run_opts o = {0};
	const struct event *ev;
	struct run_result r;
	int err;

	if (t->opts.interrupt && *t->opts.interrupt)
		return -EINTR;
	ev = session_next(t, &err);
	if (!ev)
		return err;
	do
		err = session_run(t, &o, &r);
	while (!err && r.end == RUN_STOP);
	if (!err)
		err = session_apply(t);
	return err ? err : 1;
}
