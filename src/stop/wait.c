/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Wait for the task within a budget of time. waitpid() has no timeout: a
 * POSIX timer interrupts it with a signal. The timer repeats, because a
 * signal that comes just before waitpid() is entered interrupts nothing.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "stop/internal.h"

#define TICK_SIGNAL (SIGRTMAX - 3)
#define TICK_NS	    (10 * NSEC_PER_MSEC)
#define AGAIN_NS    (NSEC_PER_MSEC / 5)

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static void on_tick(int sig)
{
}

static int timer_open(struct stops *s)
{
	struct sigaction sa = {.sa_handler = on_tick};
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TICK_SIGNAL};
	pid_t me = syscall(SYS_gettid);

	if (s->timer_of == me)
		return 0;
	if (s->timer_of)
		timer_delete(s->timer);
	s->timer_of = 0;
	/* No SA_RESTART: EINTR is the purpose. */
	sigemptyset(&sa.sa_mask);
	if (sigaction(TICK_SIGNAL, &sa, NULL))
		return -errno;
	ev.sigev_notify_thread_id = me;
	if (timer_create(CLOCK_MONOTONIC, &ev, &s->timer))
		return -errno;
	s->timer_of = me;
	return 0;
}

static int timer_arm(struct stops *s, u64 first_ns, u64 every_ns)
{
	struct itimerspec it = {
		.it_value = {first_ns / NSEC_PER_SEC, first_ns % NSEC_PER_SEC},
		.it_interval = {every_ns / NSEC_PER_SEC, every_ns % NSEC_PER_SEC},
	};

	return timer_settime(s->timer, 0, &it, NULL) ? -errno : 0;
}

int wait_begin(struct stops *s, const struct stops_run_opts *o)
{
	u64 first = TICK_NS;
	sigset_t set;
	int err;

	s->asked = false;
	s->deadline = o->budget_ns ? now_ns() + o->budget_ns : 0;
	s->interrupt = o->interrupt;
	if (!s->deadline && !s->interrupt)
		return 0;
	err = timer_open(s);
	if (err)
		return err;
	sigemptyset(&set);
	sigaddset(&set, TICK_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	if (o->budget_ns && o->budget_ns < first)
		first = MAX(o->budget_ns, 1000);
	/* Ticks as close as a short budget would leave no time between them. */
	return timer_arm(s, first, first < TICK_NS ? AGAIN_NS : TICK_NS);
}

void wait_end(struct stops *s)
{
	if ((s->deadline || s->interrupt) && s->timer_of)
		(void)timer_arm(s, 0, 0);
	s->deadline = 0;
	s->interrupt = NULL;
}

void wait_fini(struct stops *s)
{
	if (s->timer_of)
		timer_delete(s->timer);
	s->timer_of = 0;
}

bool wait_over(const struct stops *s)
{
	if (s->interrupt && *s->interrupt)
		return true;
	return s->deadline && now_ns() >= s->deadline;
}

/*
 * Ask the task to stop. A trap that it takes by itself clears a request that
 * is pending (ptrace_stop() in kernel/signal.c), but a request made after that
 * trap, before we know of it, stays: s->stray.
 */
static int interrupt(struct stops *s, struct tracee_stop *st)
{
	int err = tracee_wait(s->tid, WNOHANG, st);

	if (err != -EAGAIN)
		return err;
	if (ptrace(PTRACE_INTERRUPT, s->tid, 0, 0))
		return errno == ESRCH ? -EAGAIN : -errno;
	s->asked = true;
	s->stray = true;
	return -EAGAIN;
}

static int wait_one(struct stops *s, struct tracee_stop *st)
{
	int err;

	for (;;) {
		err = tracee_wait(s->tid, 0, st);
		if (err != -EINTR)
			return err;
		if (s->asked || !wait_over(s))
			continue;
		err = interrupt(s, st);
		if (err != -EAGAIN)
			return err;
	}
}

/*
 * An interruption is taken before signals: a breakpoint or fault that came just
 * before it is then still pending, with rip past the breakpoint already.
 */
static bool signal_pending(struct stops *s)
{
	struct __ptrace_peeksiginfo_args args = {.nr = 1};
	siginfo_t si;

	return ptrace(PTRACE_PEEKSIGINFO, s->tid, &args, &si) == 1;
}

int wait_resume(struct stops *s, int how, struct tracee_stop *st)
{
	int err;

	for (;;) {
		err = tracee_resume(s->tid, how, 0);
		if (!err)
			err = wait_one(s, st);
		if (err)
			return err;
		if (st->kind != TRACEE_EVENT || st->event != PTRACE_EVENT_STOP)
			break;
		/* An interruption: this run's, or a stray one of an earlier run. */
		s->stray = false;
		if (s->asked && !signal_pending(s))
			break;
	}
	if (st->kind == TRACEE_EXITED || st->kind == TRACEE_KILLED)
		s->dead = true;
	return 0;
}

int wait_flush(struct stops *s)
{
	s64 ret;

	if (!s->stray || s->dead)
		return 0;
	s->stray = false;
	/* If there is one it is taken before the first instruction. */
	return tracee_syscall(s->tid, &ret, SYS_getpid, 0, 0, 0, 0, 0, 0);
}
