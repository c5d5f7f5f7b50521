/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * signal.c - signals, as events at places that replay can find: the
 * instruction that raised it; the event that the thread just made; or, put
 * off a little in hope of the next event, a point.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/log.h"
#include "record/internal.h"

#define BIT_OF(sig) (1UL << ((sig)-1))
/* A thread without altstack whose frame cannot be below its stack pointer. */
#define FRAME_MAX 65536UL

enum fate { FATE_IGNORED, FATE_STOPS, FATE_KILLS, FATE_HANDLED };

/* ---- what will become of it ---- */

static u64 status_mask(pid_t tid, const char *key)
{
	char path[40], line[256];
	size_t n = strlen(key);
	u64 mask = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, n))
			continue;
		mask = strtoull(line + n, NULL, 16);
		break;
	}
	if (f)
		fclose(f);
	return mask;
}

static enum fate fate_of(const struct task *t, int sig)
{
	if (status_mask(t->tid, "SigCgt:") & BIT_OF(sig))
		return FATE_HANDLED;
	if (status_mask(t->tid, "SigIgn:") & BIT_OF(sig))
		return FATE_IGNORED;
	switch (sig) {
	case SIGCHLD:
	case SIGURG:
	case SIGWINCH:
	case SIGCONT:
		return FATE_IGNORED;
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return FATE_STOPS;
	default:
		return FATE_KILLS;
	}
}

/* Raised by the instruction itself, and again by it in replay. */
static bool is_fault(const siginfo_t *si)
{
	switch (si->si_signo) {
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGTRAP:
		return si->si_code > 0;
	default:
		return false;
	}
}

/* ---- pending at resumption ---- */

static u64 peek(pid_t tid, u32 flags)
{
	siginfo_t si[8];
	u64 mask = 0;
	long n;

	for (u64 off = 0;; off += n) {
		struct __ptrace_peeksiginfo_args a = {off, flags, ARRAY_SIZE(si)};

		n = ptrace(PTRACE_PEEKSIGINFO, tid, &a, si);
		for (long i = 0; i < n; i++)
			mask |= BIT_OF(si[i].si_signo);
		if (n < (long)ARRAY_SIZE(si))
			return mask;
	}
}

/*
 * A signal that is pending now is delivered before the task runs any
 * instruction. Equal registers alone would not prove that: a loop can come
 * back to them.
 */
u64 signal_pending(const struct task *t)
{
	return peek(t->tid, 0) | peek(t->tid, PTRACE_PEEKSIGINFO_SHARED);
}

static bool nothing_run(const struct task *t, int sig, const struct regs *now)
{
	return (t->pending & BIT_OF(sig)) && regs_equal(&t->regs, now);
}

/* ---- delivery ---- */

/*
 * The frame the kernel built, from the new stack pointer up to where the
 * thread's own stack goes on: below its red zone, or the top of the
 * alternate stack if the frame is the first thing there.
 */
static int add_frame(struct session *s, const struct regs *old, const struct regs *now)
{
	u64 sp = now->r[X86_RSP], end = old->r[X86_RSP] - 128;
	stack_t alt;

	if (end <= sp || end - sp > FRAME_MAX) {
		if (tracee_read_some(s->fx.tid, sp + 8 + offsetof(ucontext_t, uc_stack),
				     &alt, sizeof(alt)) != sizeof(alt))
			return -EFAULT;
		end = (u64)alt.ss_sp + alt.ss_size;
		if (end <= sp || end - sp > FRAME_MAX)
			end = sp + FRAME_MAX;
	}
	return effects_mem(&s->fx, sp, end - sp);
}

static void handled(struct session *s, struct task *t, int sig, struct event *ev)
{
	u8 xstate[XSTATE_MAX];
	size_t len = sizeof(xstate);
	struct tracee_stop stop;
	struct regs now;
	int err;

	/* With the signal, a single step stops at the handler's first
	 * instruction, before it has run. */
	err = tracee_resume(t->tid, PTRACE_SINGLESTEP, sig);
	do
		err = err ? err : tracee_wait(t->tid, 0, &stop);
	while (err == -EINTR && !(err = 0));
	if (err) {
		t->state = TASK_DYING;
		return;
	}
	if (stop.kind != TRACEE_SIGNAL || stop.sig != SIGTRAP) {
		/* No room for the frame: the kernel kills it with SIGSEGV. */
		ev->fatal = true;
		emit(s, t, ev);
		t->state = TASK_DYING;
		if (stop.kind == TRACEE_SIGNAL)
			tracee_ignore(tracee_resume(t->tid, PTRACE_CONT, stop.sig));
		else
			session_stop(s, &stop);
		return;
	}
	effects_reset(&s->fx, t->tid);
	err = tracee_get_regs(t->tid, &now);
	if (!err)
		err = add_frame(s, &ev->regs, &now);
	if (!err)
		err = tracee_get_xstate(t->tid, xstate, &len);
	if (err) {
		t->state = TASK_DYING;
		return;
	}
	now.r[X86_ORIG_RAX] = -1;
	ev->regs_after = now;
	ev->has_after = true;
	ev->xstate = xstate;
	ev->xstate_len = len;
	effects_seal(&s->fx, ev);
	trap_note_mask(t);
	t->handler = &now;
	emit(s, t, ev);
	t->handler = NULL;
	samples_flush(s, t, trace_writer_last(s->w));
	t->regs = now;
	t->state = TASK_READY;
}

static void deliver(struct session *s, struct task *t, const siginfo_t *si, u8 where,
		    enum fate fate, const struct regs *r)
{
	struct event ev = {.type = EV_SIGNAL, .where = where, .regs = *r, .siginfo = si};

	ev.regs.r[X86_ORIG_RAX] = -1;
	if (fate == FATE_HANDLED) {
		handled(s, t, si->si_signo, &ev);
		return;
	}
	if (fate == FATE_KILLS) {
		ev.fatal = true;
		emit(s, t, &ev);
		t->state = TASK_DYING;
	} else {
		t->state = TASK_RUNNING;
	}
	tracee_ignore(tracee_resume(t->tid, PTRACE_CONT, si->si_signo));
}

/* ---- putting off ---- */

static bool stash(struct task *t, const siginfo_t *si)
{
	if (t->n_stash == MAX_STASH)
		return false;
	if (!t->n_stash)
		t->stash_ns = now_ns();
	t->stash[t->n_stash++] = *si;
	return true;
}

/* At an event: what was put off is sent again and comes at once. */
void signal_resend(struct session *s, struct task *t)
{
	(void)s;
	for (int i = 0; i < t->n_stash; i++) {
		if (t->n_resent == MAX_STASH)
			memmove(t->resent, t->resent + 1,
				sizeof(t->resent[0]) * --t->n_resent);
		t->resent[t->n_resent++] = t->stash[i];
		syscall(SYS_tgkill, t->pid, t->tid, t->stash[i].si_signo);
	}
	t->n_stash = 0;
}

/* A signal of ours carries what the original one did. */
static void put_info_back(struct task *t, siginfo_t *si)
{
	if (si->si_code != SI_TKILL || si->si_pid != getpid())
		return;
	for (int i = 0; i < t->n_resent; i++) {
		if (t->resent[i].si_signo != si->si_signo)
			continue;
		*si = t->resent[i];
		memmove(t->resent + i, t->resent + i + 1,
			sizeof(t->resent[0]) * (--t->n_resent - i));
		ptrace(PTRACE_SETSIGINFO, t->tid, 0, si);
		return;
	}
}

/* ---- a stop ---- */

/* The thread stands at the end of a call that this signal interrupts. */
static void end_call(struct session *s, struct task *t, const struct regs *r)
{
	t->call.after = *r;
	t->call.finished = true;
	call_finish(s, t);
	t->pending = ~0UL;
}

static void current_stopped(struct session *s, struct task *t, siginfo_t *si)
{
	int sig = si->si_signo;
	enum fate fate = fate_of(t, sig);
	struct regs r;

	if (tracee_get_regs(t->tid, &r)) {
		t->state = TASK_DYING;
		return;
	}
	if (is_fault(si) && !t->call.active) {
		deliver(s, t, si, WHERE_FAULT, fate == FATE_IGNORED ? FATE_KILLS : fate,
			&r);
		return;
	}
	if (fate == FATE_IGNORED ||
	    (fate == FATE_STOPS && (t->call.active || nothing_run(t, sig, &r)))) {
		t->state = t->call.active ? TASK_CALL : TASK_RUNNING;
		tracee_ignore(tracee_resume(t->tid, PTRACE_CONT, sig));
		return;
	}
	if (t->call.active)
		end_call(s, t, &r);
	if (nothing_run(t, sig, &r)) {
		deliver(s, t, si, WHERE_HERE, fate, &r);
		return;
	}
	if (!stash(t, si)) {
		signal_here(s, t);
		deliver(s, t, si, WHERE_HERE, fate, &r);
		return;
	}
	task_continue(s, t);
}

void signal_stopped(struct session *s, struct task *t, int sig)
{
	siginfo_t si;

	if (ptrace(PTRACE_GETSIGINFO, t->tid, 0, &si)) {
		t->state = TASK_DYING;
		return;
	}
	/* The breakpoint of strong_settle() hit as an interrupt stopped the thread,
	 * and the kernel shows the interrupt first: nobody else has debug registers. */
	if (sig == SIGTRAP && si.si_code == TRAP_HWBKPT && t == s->cur) {
		task_continue(s, t);
		return;
	}
	if (t != s->cur) {
		/* What changes nothing for the program need not wait. */
		if (fate_of(t, sig) == FATE_IGNORED) {
			tracee_ignore(tracee_resume(t->tid, PTRACE_CONT, sig));
			return;
		}
		t->has_stop = true;
		t->stop = (struct tracee_stop){
			.tid = t->tid, .kind = TRACEE_SIGNAL, .sig = sig};
		t->state = TASK_DONE;
		return;
	}
	if (!t->call.active && trap_emulate(s, t, &si)) {
		t->state = TASK_READY;
		signal_resend(s, t);
		return;
	}
	put_info_back(t, &si);
	current_stopped(s, t, &si);
}

/* ---- points ---- */

void signal_here(struct session *s, struct task *t)
{
	struct event ev = {.type = EV_SCHED};
	struct regs r;

	if (tracee_get_regs(t->tid, &r)) {
		t->state = TASK_DYING;
		return;
	}
	r.r[X86_ORIG_RAX] = -1;
	ev.regs = r;
	ev.point =
		(struct point){.event = trace_writer_last(s->w), .tid = t->tid, .regs = r};
	samples_drain(s);
	if (strong_point(s, t, &ev.point)) {
		session_end(s, "cannot take a point of thread %d", t->tid);
		return;
	}
	emit(s, t, &ev);
	point_fini(&ev.point);
	t->regs = r;
	t->state = TASK_READY;
}

void signal_point(struct session *s, struct task *t)
{
	struct tracee_stop stop;
	int err;

	if (t->sample_due)
		samples_take(s, t);
	else if (!s->strong) {
		if (strong_begin(s, t))
			log_debug("task %d: page writes cannot be watched", t->tid);
	} else {
		err = strong_settle(s, t, &stop);
		if (err == -EAGAIN) {
			session_stop(s, &stop);
			return;
		}
		if (err) {
			t->state = TASK_DYING;
			return;
		}
		signal_here(s, t);
		signal_resend(s, t);
		return;
	}
	task_continue(s, t);
}
