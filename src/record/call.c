/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * call.c - a system call from its entry stop to its exit stop, and the event
 * it makes.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "record/internal.h"

/* What the kernel leaves in rax when it means to run the call once more, if
 * no handler runs first (include/linux/errno.h). */
static bool is_restart(s64 ret)
{
	return ret == -512 || ret == -513 || ret == -514 || ret == -516;
}

static void arguments(const struct regs *r, u64 arg[6])
{
	static const u8 order[6] = {X86_RDI, X86_RSI, X86_RDX, X86_R10, X86_R8, X86_R9};

	for (int i = 0; i < 6; i++)
		arg[i] = r->r[order[i]];
}

static bool ends_thread(long nr)
{
	return nr == SYS_exit || nr == SYS_exit_group;
}

/* Data would go to our own output without passing the program's memory, where
 * replay finds it: the program is made to fall back to read and write. */
static bool redirects_to_output(struct session *s, struct task *t, long nr,
				const u64 arg[6])
{
	int fd = nr == SYS_sendfile ? arg[0] : nr == SYS_tee ? arg[1] : arg[2];

	return own_output(s, t, fd);
}

static void skip(struct call *c, s64 ret)
{
	c->skipped = true;
	c->forced = ret;
}

/*
 * PTRACE_INTERRUPT was sent and the thread entered a call instead: the stop
 * may still be pending and would interrupt the call, which some calls show to
 * the program (epoll_wait). Any other stop takes its place: let a call that is
 * not run go by, then enter again.
 */
static void flush_interrupt(struct task *t, struct regs *r)
{
	t->call.regs = *r;
	t->interrupted = t->late_stop = false;
	t->flushing = true;
	r->r[X86_ORIG_RAX] = -1;
	tracee_ignore(tracee_set_regs(t->tid, r));
	tracee_ignore(tracee_resume(t->tid, PTRACE_SYSCALL, 0));
}

static void flushed(struct task *t)
{
	struct regs r = t->call.regs;

	t->flushing = false;
	r.r[X86_RIP] -= 2;
	r.r[X86_RAX] = r.r[X86_ORIG_RAX];
	r.r[X86_ORIG_RAX] = -1;
	tracee_ignore(tracee_set_regs(t->tid, &r));
	tracee_ignore(tracee_resume(t->tid, PTRACE_CONT, 0));
}

static void begin(struct session *s, struct task *t, struct regs *r)
{
	struct call *c = &t->call;
	const struct hook *h = hook_find(c->view.nr);
	int refused;

	refused = syscall_refused(c->info, c->view.nr, c->view.arg);
	if (refused)
		skip(c, refused);
	else if ((c->info->flags & SC_REDIRECT) &&
		 redirects_to_output(s, t, c->view.nr, c->view.arg))
		skip(c, -EINVAL);
	else if (h && h->enter)
		h->enter(s, t, r);
	if (c->skipped) {
		r->r[X86_ORIG_RAX] = -1;
		r->r[X86_RAX] = c->forced;
	}
	if (c->skipped || c->args_changed)
		tracee_ignore(tracee_set_regs(t->tid, r));
	syscall_enter(c->info, &c->view);
}

static void run(struct session *s, struct task *t, struct regs *r)
{
	struct call *c = &t->call;
	int how = PTRACE_SYSCALL;

	t->may_block = syscall_may_block(c->info, c->view.arg);
	t->state = TASK_CALL;
	begin(s, t, r);
	/* It comes with the call: what would sleep in it is interrupted. */
	signal_resend(s, t);
	if (c->skipped) {
		/* The kernel has nothing to do: no stop at its exit either. */
		c->after = *r;
		c->finished = true;
		t->state = TASK_READY;
		call_finish(s, t);
		return;
	}
	if (ends_thread(c->view.nr)) {
		emit_enter(s, t);
		how = PTRACE_CONT;
	} else if (c->view.nr == SYS_execve && task_siblings(s, t)) {
		/* The ends of the others come before its own new beginning. */
		emit_enter(s, t);
	}
	tracee_ignore(tracee_resume(t->tid, how, 0));
}

static bool is_foreign(const struct task *t)
{
	unsigned long mark = 0;

	return !ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &mark) && mark == FILTER_FOREIGN;
}

void call_entered(struct session *s, struct task *t)
{
	struct call *c = &t->call;
	struct regs r;

	if (!s->execed) {
		tracee_ignore(tracee_resume(t->tid, PTRACE_CONT, 0));
		return;
	}
	if (tracee_get_regs(t->tid, &r)) {
		t->state = TASK_DYING;
		return;
	}
	if (c->active && c->restarting) {
		c->restarting = false;
		t->state = TASK_CALL;
		tracee_ignore(tracee_resume(t->tid, PTRACE_SYSCALL, 0));
		return;
	}
	if (t->interrupted || t->late_stop) {
		flush_interrupt(t, &r);
		return;
	}
	if (is_foreign(t)) {
		session_end(s, "thread %d made a 32-bit system call (int 0x80, number %ld)",
			    t->tid, (long)r.r[X86_ORIG_RAX]);
		return;
	}
	*c = (struct call){.active = true, .regs = r, .began_ns = now_ns()};
	c->view.tid = t->tid;
	c->view.nr = r.r[X86_ORIG_RAX];
	arguments(&r, c->view.arg);
	c->info = syscall_lookup(c->view.nr);
	if (!c->info) {
		session_end(s,
			    "system call %ld of thread %d is not in the table of calls "
			    "that can be recorded",
			    c->view.nr, t->tid);
		return;
	}
	run(s, t, &r);
}

void call_exited(struct session *s, struct task *t)
{
	struct call *c = &t->call;
	s64 ret;

	if (t->flushing) {
		flushed(t);
		return;
	}
	if (!c->active || tracee_get_regs(t->tid, &c->after)) {
		tracee_ignore(tracee_resume(t->tid, PTRACE_CONT, 0));
		return;
	}
	ret = c->after.r[X86_RAX];
	if (!c->skipped && c->view.nr != SYS_rt_sigreturn && is_restart(ret)) {
		c->restarting = true;
		tracee_ignore(tracee_resume(t->tid, PTRACE_CONT, 0));
		return;
	}
	c->finished = true;
	if (t == s->cur) {
		t->state = TASK_READY;
		call_finish(s, t);
	} else {
		t->state = TASK_DONE;
	}
}

/* ---- the event ---- */

static int sink_mem(void *ctx, u64 addr, u64 len)
{
	struct session *s = ctx;

	return effects_mem(&s->fx, addr, len);
}

static int sink_output(void *ctx, int fd, u64 addr, u64 len)
{
	struct session *s = ctx;
	int own = own_output(s, task_find(s, s->fx.tid), fd);

	return own ? effects_output(&s->fx, own, addr, len) : 0;
}

static void put_back_arguments(struct task *t)
{
	static const u8 order[6] = {X86_RDI, X86_RSI, X86_RDX, X86_R10, X86_R8, X86_R9};
	struct call *c = &t->call;

	for (int i = 0; i < 6; i++)
		c->after.r[order[i]] = c->regs.r[order[i]];
	tracee_ignore(tracee_set_regs(t->tid, &c->after));
}

void call_finish(struct session *s, struct task *t)
{
	struct call *c = &t->call;
	struct syscall_sink sink = {sink_mem, sink_output, s};
	const struct hook *h = hook_find(c->view.nr);
	struct event ev = {
		.type = c->split ? EV_LEAVE : EV_SYSCALL,
		.has_after = true,
		.what = c->info->name,
		.regs = c->regs,
	};
	u8 xstate[XSTATE_MAX];
	size_t len = sizeof(xstate);
	int err;

	effects_reset(&s->fx, t->tid);
	if (c->skipped)
		c->after.r[X86_RAX] = c->forced;
	if (c->args_changed)
		put_back_arguments(t);
	c->view.ret = c->after.r[X86_RAX];
	if (!c->skipped && h && h->leave)
		h->leave(s, t, c->view.ret);
	err = c->skipped && (c->info->flags & SC_DENY)
		      ? 0
		      : syscall_leave(c->info, &c->view, &sink);
	if (err)
		s->fx.data.err = err;
	c->after.r[X86_ORIG_RAX] = -1;
	ev.regs_after = c->after;
	if (c->view.nr == SYS_rt_sigreturn && !tracee_get_xstate(t->tid, xstate, &len)) {
		ev.xstate = xstate;
		ev.xstate_len = len;
	}
	effects_seal(&s->fx, &ev);
	emit(s, t, &ev);
	samples_flush_call(s, t, c->split ? c->event : trace_writer_last(s->w));
	samples_blocked(s, t);
	if (c->view.nr == SYS_rt_sigprocmask || c->view.nr == SYS_rt_sigreturn)
		trap_note_mask(t);
	t->regs = c->after;
	c->active = false;
}
