/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * process.c - tasks come and go: clone, fork, vfork, exec, exit.
 */
#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/log.h"
#include "record/internal.h"

/* ---- birth ---- */

struct birth {
	u64 flags, parent_tid, child_tid, pidfd;
};

static void birth_decode(const struct task *t, struct birth *b)
{
	const u64 *arg = t->call.view.arg;
	struct clone_args a = {0};

	*b = (struct birth){0};
	switch (t->call.view.nr) {
	case SYS_vfork:
		b->flags = CLONE_VM | CLONE_VFORK;
		break;
	case SYS_clone:
		b->flags = arg[0];
		b->parent_tid = arg[2];
		b->child_tid = arg[3];
		b->pidfd = arg[2];
		break;
	case SYS_clone3:
		if (tracee_read_some(t->tid, arg[0], &a, MIN(arg[1], sizeof(a))) < 64)
			break;
		b->flags = a.flags;
		b->parent_tid = a.parent_tid;
		b->child_tid = a.child_tid;
		b->pidfd = a.pidfd;
		break;
	}
}

/* Wait for the first stop of a new task, which may have come before. */
static int await_child(struct session *s, pid_t tid)
{
	struct tracee_stop stop;
	int err;

	for (int i = 0; i < s->n_orphans; i++) {
		if (s->orphans[i].tid != tid)
			continue;
		s->orphans[i] = s->orphans[--s->n_orphans];
		return 0;
	}
	do
		err = tracee_wait(tid, 0, &stop);
	while (err == -EINTR);
	if (!err && (stop.kind == TRACEE_EXITED || stop.kind == TRACEE_KILLED))
		err = -ESRCH;
	return err;
}

static struct task *child_new(struct session *s, struct task *t, pid_t tid)
{
	struct birth b;
	struct task *c;
	struct mm *mm;

	birth_decode(t, &b);
	mm = b.flags & CLONE_VM ? t->mm : mm_new(t->mm);
	c = mm ? task_new(s, tid, b.flags & CLONE_THREAD ? t->pid : tid, mm) : NULL;
	if (!c) {
		session_end(s, "out of memory");
		return NULL;
	}
	c->cpus = t->cpus;
	c->blocked = t->blocked;
	c->segv = b.flags & CLONE_SIGHAND ? t->segv : segv_new(t->segv);
	if (c->segv == t->segv)
		c->segv->refs++;
	if (!c->segv) {
		session_end(s, "out of memory");
		return NULL;
	}
	if (b.flags & CLONE_CHILD_CLEARTID)
		c->clear_tid = b.child_tid;
	if (tracee_get_regs(tid, &c->regs))
		c->state = TASK_DYING;
	c->regs.r[X86_ORIG_RAX] = -1;
	return c;
}

static void birth_effects(struct session *s, struct task *t, struct task *c)
{
	struct birth b;
	u32 word, own;
	struct effect *e;
	bool share;
	int err = 0;

	birth_decode(t, &b);
	share = b.flags & CLONE_VM;
	/* The kernel writes this word in the child only: into the parent before
	 * the copy, and back after it. */
	if ((b.flags & CLONE_CHILD_SETTID) && !share &&
	    !tracee_read(c->tid, b.child_tid, &word, 4) &&
	    !tracee_read(t->tid, b.child_tid, &own, 4))
		err = effects_bytes(&s->fx, b.child_tid, &word, 4);
	e = effects_add(&s->fx, EF_FORK, 0, 0);
	if (!e || err) {
		s->fx.data.err = -ENOMEM;
		return;
	}
	s->fx.child_regs = c->regs;
	e->fork.tid = c->tid;
	e->fork.pid = c->pid;
	e->fork.share = share;
	e->fork.regs = &s->fx.child_regs;
	if (s->fx.n > 1)
		err = effects_bytes(&s->fx, b.child_tid, &own, 4);
	if (!err && (b.flags & CLONE_CHILD_SETTID) && share)
		err = effects_mem(&s->fx, b.child_tid, 4);
	if (!err && (b.flags & CLONE_PARENT_SETTID))
		err = effects_mem(&s->fx, b.parent_tid, 4);
	if (!err && (b.flags & CLONE_PIDFD))
		err = effects_mem(&s->fx, b.pidfd, 4);
	if (err)
		s->fx.data.err = err;
}

void process_forked(struct session *s, struct task *t, int event)
{
	unsigned long msg = 0;
	struct task *c = NULL;

	if (!ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &msg) && !await_child(s, msg))
		c = child_new(s, t, msg);
	if (c)
		samples_add_task(s, c);
	t->call.child = c;
	if (event == PTRACE_EVENT_VFORK && c) {
		/* It sleeps until the child execs or ends: the child runs first. */
		effects_reset(&s->fx, t->tid);
		birth_effects(s, t, c);
		emit_enter(s, t);
		t->may_block = true;
		if (s->cur == t)
			s->cur = NULL;
		s->last = t;
	}
	tracee_ignore(tracee_resume(t->tid, PTRACE_SYSCALL, 0));
}

void process_fork_effects(struct session *s, struct task *t, s64 ret)
{
	struct task *c = ret > 0 ? task_find(s, ret) : NULL;

	/* Written with the entry already: vfork. */
	if (t->call.split)
		return;
	/* In another pid namespace ret is not our number for it. */
	if (!c && ret > 0)
		c = t->call.child;
	if (c)
		birth_effects(s, t, c);
}

/* ---- exec ---- */

static void end_siblings(struct session *s, struct task *t)
{
	struct event ev = {.type = EV_EXIT};
	struct task *o, *next;

	for (o = s->tasks; o; o = next) {
		next = o->next;
		if (o == t || o->pid != t->pid)
			continue;
		samples_del_task(s, o);
		emit(s, o, &ev);
		task_free(s, o);
	}
	if (t->tid == t->pid)
		return;
	/* Not the leader: it takes the leader's number. */
	samples_del_task(s, t);
	emit(s, t, &ev);
	t->tid = t->pid;
}

struct task *process_execed(struct session *s, pid_t tid)
{
	unsigned long former;

	if (!ptrace(PTRACE_GETEVENTMSG, tid, 0, &former) && task_find(s, former))
		return task_find(s, former);
	return task_find(s, tid);
}

void process_exec_event(struct session *s, struct task *t)
{
	struct mm *mm;

	if (s->execed) {
		if (!t->call.split)
			emit_enter(s, t);
		end_siblings(s, t);
	} else {
		emit_simple(s, t, EV_START);
	}
	mm = mm_new(NULL);
	if (!mm) {
		session_end(s, "out of memory");
		return;
	}
	mm_put(t->mm);
	t->mm = mm;
	mm->refs = 1;
	t->clear_tid = t->robust = 0;
	t->call.active = false;
	t->execing = true;
	s->execed = true;
	s->cur = t;
	t->state = TASK_CALL;
	t->may_block = false;
	tracee_ignore(tracee_resume(t->tid, PTRACE_SYSCALL, 0));
}

void process_exec_done(struct session *s, struct task *t)
{
	int err;

	err = exec_image(s, t);
	t->execing = false;
	if (err == -ESRCH) {
		t->state = TASK_DYING;
		return;
	}
	if (err)
		session_end(s, "cannot set up the new program of process %d: %s", t->pid,
			    strerror(-err));
	trap_exec(s, t);
	samples_add_task(s, t);
	t->state = TASK_READY;
}

/* ---- death ---- */

/*
 * Mutexes that die with their owner: the kernel marks the words on the
 * thread's robust list (kernel/futex/core.c, exit_robust_list).
 */
static void note_robust(struct task *t)
{
	struct {
		u64 next, offset, pending;
	} head;
	u64 at;
	u32 word;

	if (!t->robust || tracee_read(t->tid, t->robust, &head, sizeof(head)))
		return;
	at = head.next & ~1UL;
	for (int i = 0; i < 2048 && at != t->robust && t->n_died < MAX_DIED; i++) {
		if (!tracee_read(t->tid, at + head.offset, &word, 4) &&
		    (word & FUTEX_TID_MASK) == (u32)t->tid) {
			t->died[t->n_died] = at + head.offset;
			t->died_word[t->n_died++] =
				(word & FUTEX_WAITERS) | FUTEX_OWNER_DIED;
		}
		if (tracee_read(t->tid, at, &at, 8))
			break;
		at &= ~1UL;
	}
}

static bool has_news(pid_t tid)
{
	siginfo_t si = {0};

	return !waitid(P_PID, tid, &si, WNOWAIT | WNOHANG | WEXITED | WSTOPPED | __WALL) &&
	       si.si_pid;
}

void process_exiting(struct session *s, struct task *t)
{
	unsigned long msg = 0;
	struct tracee_stop stop;
	char state;

	if (ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &msg))
		msg = 0;
	t->exit_seen = true;
	t->exit_status = msg;
	note_robust(t);
	t->state = TASK_DYING;
	samples_drain(s);
	samples_del_task(s, t);
	tracee_ignore(tracee_resume(t->tid, PTRACE_CONT, 0));
	if (t->tid != t->pid || !task_siblings(s, t))
		return;
	/* The end of a leader is reported after that of all its threads; the
	 * word it clears is cleared now. */
	do {
		sched_yield();
		state = task_kernel_state(t);
		/* Another thread's exec may have taken its place already. */
		if (has_news(t->tid))
			return;
	} while (state != 'Z' && state != 'X' && state != 'x');
	stop = (struct tracee_stop){
		.tid = t->tid, .kind = TRACEE_EVENT, .status = t->exit_status};
	process_ended(s, t, &stop);
}

void process_ended(struct session *s, struct task *t, const struct tracee_stop *stop)
{
	struct event ev = {.type = EV_EXIT, .status = stop->status};

	samples_del_task(s, t);
	effects_reset(&s->fx, t->tid);
	for (struct task *o = s->tasks; o && t->clear_tid; o = o->next) {
		if (o == t || o->mm != t->mm)
			continue;
		s->fx.tid = o->tid;
		if (effects_mem(&s->fx, t->clear_tid, 4))
			s->fx.data.err = -ENOMEM;
		break;
	}
	for (int i = 0; i < t->n_died; i++)
		if (effects_bytes(&s->fx, t->died[i], &t->died_word[i], 4))
			s->fx.data.err = -ENOMEM;
	effects_seal(&s->fx, &ev);
	if (s->execed)
		emit(s, t, &ev);
	process_unknown_ended(s, stop);
	task_free(s, t);
}

void process_unknown_ended(struct session *s, const struct tracee_stop *stop)
{
	if (stop->tid != s->root || stop->kind == TRACEE_EVENT)
		return;
	s->root_status = stop->status;
	s->root_ended = true;
}
