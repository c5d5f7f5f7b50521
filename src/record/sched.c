/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sched.c - one task at a time runs program code. It keeps the CPU until it
 * sleeps in the kernel, or its slice is over and an event comes; a task that
 * makes no events is stopped at a point.
 */
#include <errno.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/time.h>

#include "record/internal.h"

#define SLICE_NS (10 * NSEC_PER_MSEC)
/* How long past its slice a task is waited for to make an event. */
#define GRACE_NS (5 * NSEC_PER_MSEC)
/* Whoever only waits for others to change memory gets less of both. */
#define SPIN_NS (1 * NSEC_PER_MSEC)
/* How long a signal is put off, hoping for an event. */
#define STASH_NS (NSEC_PER_MSEC / 2)
/* How long page writes are watched before a point is taken. */
#define WATCH_NS (NSEC_PER_MSEC / 2)

static bool can_run(const struct task *t)
{
	return t->state == TASK_READY || t->state == TASK_DONE;
}

bool sched_others(struct session *s, const struct task *t)
{
	for (struct task *o = s->tasks; o; o = o->next)
		if (o != t && can_run(o))
			return true;
	return false;
}

/* The timer only matters while there is somebody to switch to, or something
 * is put off: a lone task is only disturbed when its samples are fetched. */
static void set_timer(struct session *s, u64 ns)
{
	struct itimerval v = {
		{0, ns / 1000},
		{0, ns / 1000}
	      };

	if (s->timer_ns == ns)
		return;
	s->timer_ns = ns;
	setitimer(ITIMER_REAL, &v, NULL);
}

void sched_event_made(struct session *s, struct task *t)
{
	t->resumed_ns = now_ns();
	if (t == s->cur)
		strong_drop(s);
}

static void choose_timer(struct session *s, struct task *t)
{
	if (t->n_stash || s->strong)
		set_timer(s, NSEC_PER_MSEC / 4);
	else if (s->poll_timer)
		set_timer(s, NSEC_PER_MSEC);
	else
		set_timer(s, !sched_others(s, t) ? s->drain_ns
			     : t->spins		 ? SPIN_NS
						 : 5 * NSEC_PER_MSEC);
}

void task_continue(struct session *s, struct task *t)
{
	choose_timer(s, t);
	t->pending = 0;
	t->state = TASK_RUNNING;
	if (tracee_resume(t->tid, PTRACE_CONT, 0) == -ESRCH)
		t->state = TASK_DYING;
}

void task_resume(struct session *s, struct task *t)
{
	u64 pending = signal_pending(t);

	task_continue(s, t);
	t->pending = pending;
}

void task_go(struct session *s, struct task *t)
{
	s->cur = t;
	t->slice_ns = now_ns();
	t->yielded = false;
	if (t->state == TASK_DONE) {
		t->state = TASK_READY;
		if (t->call.active && t->call.finished)
			call_finish(s, t);
		if (t->has_stop) {
			t->has_stop = false;
			signal_stopped(s, t, t->stop.sig);
		}
	}
	if (s->cur == t && t->state == TASK_READY)
		task_resume(s, t);
}

static struct task *pick(struct session *s)
{
	struct task *t;

	for (t = s->last ? s->last->next : NULL; t; t = t->next)
		if (can_run(t))
			return t;
	for (t = s->tasks; t; t = t->next)
		if (can_run(t))
			return t;
	return NULL;
}

/*
 * The current task is in a call that may sleep, and somebody else could run.
 * It shares our CPU: give it that, and look. True: it sleeps.
 */
static bool sleeps(struct session *s, struct task *t)
{
	struct tracee_stop stop;
	int err;

	while (s->cur == t && t->state == TASK_CALL) {
		err = session_wait(s, false, &stop);
		if (!err) {
			session_stop(s, &stop);
			continue;
		}
		if (err != -EAGAIN)
			return false;
		switch (task_kernel_state(t)) {
		case 'S':
		case 'D':
		case 'I':
			return true;
		}
		sched_yield();
	}
	return false;
}

static bool slice_over(const struct task *t)
{
	return t->yielded || now_ns() - t->slice_ns >= (t->spins ? SPIN_NS : SLICE_NS);
}

void sched_next(struct session *s)
{
	struct task *t = s->cur;

	if (t && t->state == TASK_CALL) {
		if (!t->may_block || !sched_others(s, t))
			return;
		if (sleeps(s, t)) {
			if (!t->call.split)
				emit_enter(s, t);
			s->cur = NULL;
		}
		t = s->cur;
	}
	if (s->over)
		return;
	/* Somebody may have woken up since it was resumed. */
	if (t && t->state == TASK_RUNNING)
		choose_timer(s, t);
	if (t &&
	    (t->state == TASK_RUNNING || t->state == TASK_CALL || t->state == TASK_DYING))
		return;
	if (t && t->state == TASK_READY && !(sched_others(s, t) && slice_over(t))) {
		task_resume(s, t);
		return;
	}
	if (t && !can_run(t))
		s->cur = NULL;
	if (t)
		s->last = t;
	t = pick(s);
	if (t)
		task_go(s, t);
}

/* No event came: is it to be stopped anywhere? */
static bool waited_enough(const struct task *t, u64 now)
{
	if (t->spins)
		return now - t->slice_ns >= SPIN_NS;
	return now - t->slice_ns >= SLICE_NS + GRACE_NS && now - t->resumed_ns >= GRACE_NS;
}

/* The timer fired: is the current task to be stopped where it is? */
void sched_tick(struct session *s)
{
	struct task *t = s->cur;
	u64 now = now_ns();
	bool want;

	samples_drain(s);
	if (!t || t->state != TASK_RUNNING || t->interrupted)
		return;
	if (s->strong)
		want = now - s->strong_ns >= WATCH_NS;
	else if (t->n_stash)
		want = now - t->stash_ns >= STASH_NS;
	else
		want = (sched_others(s, t) && waited_enough(t, now)) || samples_due(s, t);
	if (!want)
		return;
	t->interrupted = true;
	tracee_ignore(tracee_resume(t->tid, PTRACE_INTERRUPT, 0));
}
