/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Run the task and make sense of every stop of it.
 */
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>

#include "base/log.h"
#include "stop/internal.h"

#ifndef PTRACE_SYSEMU
#define PTRACE_SYSEMU 31
#endif

int now_load(struct stops *s)
{
	int err = tracee_get_regs(s->tid, &s->now);

	s->rf = s->now.r[X86_EFLAGS] & EFLAGS_RF;
	s->now.r[X86_EFLAGS] &= ~EFLAGS_RF;
	s->now_set = true;
	return err;
}

int now_store(struct stops *s)
{
	const struct site *t = site_at(s, s->now.r[X86_RIP]);
	struct regs r = s->now;
	int err;

	/* A breakpoint register at rip must not fire: it has been looked at. */
	if (t && (t->kind == SITE_HW || t->kind == SITE_BPF))
		r.r[X86_EFLAGS] |= EFLAGS_RF;
	else if (s->now_set)
		return 0;
	err = tracee_set_regs(s->tid, &r);
	s->now_set = !err;
	return err;
}

static void now_move(struct stops *s, u64 ip)
{
	s->now.r[X86_RIP] = ip;
	s->now_set = false;
}

#ifndef TRAP_PERF
#define TRAP_PERF 6 /* younger than glibc 2.36 */
#endif

/* What comes of a stop: go on, or @res is filled. */
enum outcome { GO_ON, DONE };

static enum outcome done(struct stop_result *res, enum stop_result_kind kind)
{
	res->kind = kind;
	return DONE;
}

/* The thread stands before an instruction. */
static enum outcome arrive(struct stops *s, struct stop_result *res)
{
	int exec;

	res->conds = eval_arrival(s, &exec);
	if (exec >= 0) {
		res->watch = exec;
		return done(res, STOPPED_WATCH);
	}
	return res->conds ? done(res, STOPPED_COND) : GO_ON;
}

/* The debug registers that fired: a watch goes before all else. */
static enum outcome settle_debugreg(struct stops *s, u32 fired, struct stop_result *res)
{
	int watch = -1;
	bool exec = false;

	/* A check reads what is watched. */
	if (s->part == PART_CHECK)
		return arrive(s, res);
	for (int i = 0; i < 4; i++) {
		if (!(fired & 1u << i))
			continue;
		if (s->dr_owner[i] == DR_SITE)
			exec |= s->dr[i] == s->now.r[X86_RIP];
		else if (s->dr_owner[i] >= 0 && watch < 0)
			watch = s->dr_owner[i];
	}
	if (watch >= 0) {
		/* The access is done: this is an arrival at what follows it. */
		(void)arrive(s, res);
		res->watch = watch;
		return done(res, STOPPED_WATCH);
	}
	return exec ? arrive(s, res) : GO_ON;
}

/* Many stops for nothing: another way is worth its price. */
#define BUSY_PASSES 200

static void note_pass(struct stops *s, struct site *t)
{
	if (s->force != STOP_AUTO || ++t->passes != BUSY_PASSES)
		return;
	s->busy[s->n_busy++ % ARRAY_SIZE(s->busy)] = t->ip;
	s->dirty = true;
}

static enum outcome settle_trap(struct stops *s, bool stepped, struct stop_result *res)
{
	siginfo_t si = {0};
	u32 fired = debugreg_fired(s);
	struct site *t;

	if (fired) {
		if (!stepped && !s->placed)
			eval_moved(s);
		return settle_debugreg(s, fired, res);
	}
	if (ptrace(PTRACE_GETSIGINFO, s->tid, 0, &si))
		return done(res, STOPPED_OTHER);
	if (stepped && si.si_code == TRAP_TRACE)
		return arrive(s, res);
	t = site_at(s, s->now.r[X86_RIP]);
	if (si.si_code == TRAP_PERF && t && t->kind == SITE_BPF) {
		eval_moved(s);
		bpf_settle(s, t);
		return arrive(s, res);
	}
	t = site_at(s, s->now.r[X86_RIP] - 1);
	if (si.si_code == SI_KERNEL && t && t->kind == SITE_INT3) {
		now_move(s, t->ip);
		eval_moved(s);
		note_pass(s, t);
		return arrive(s, res);
	}
	return done(res, STOPPED_OTHER);
}

/* Interrupted after the breakpoint here was taken, and passed by the program. */
static void settle_rf(struct stops *s)
{
	struct site *t = site_at(s, s->now.r[X86_RIP]);

	if (!t || t->kind != SITE_BPF)
		return;
	eval_moved(s);
	bpf_settle(s, t);
}

static enum outcome settle(struct stops *s, bool stepped, bool arrived,
			   struct stop_result *res)
{
	const struct tracee_stop *st = &res->stop;

	res->conds = 0;
	res->watch = -1;
	if (s->dead)
		return done(res, STOPPED_OTHER);
	if (arrived)
		return arrive(s, res);
	if (st->kind == TRACEE_EVENT && st->event == PTRACE_EVENT_STOP) {
		/* RF: the breakpoint here has already been taken. */
		if (!stepped && !s->rf && !s->placed)
			eval_moved(s);
		if (!stepped && s->rf)
			settle_rf(s);
		return arrive(s, res) == DONE ? DONE : done(res, STOPPED_TIME);
	}
	if (st->kind == TRACEE_SIGNAL && st->sig == SIGTRAP)
		return settle_trap(s, stepped, res);
	if (st->kind == TRACEE_SYSCALL)
		eval_moved(s);
	return done(res, STOPPED_OTHER);
}

/* Resume from s->now past whatever is armed at it, until the next stop. */
static int go(struct stops *s, bool *stepped, struct tracee_stop *st)
{
	struct site *t = site_at(s, s->now.r[X86_RIP]);
	u64 past = tramp_past(s, s->now.r[X86_RIP]);
	int err = tramp_push(s);

	if (err)
		return err;
	*stepped = (t && t->kind == SITE_INT3) || tramp_inside(s, s->now.r[X86_RIP]);
	if (*stepped)
		return step_once(s, st);
	bpf_push(s);
	if (past != s->now.r[X86_RIP])
		now_move(s, past);
	err = now_store(s);
	if (!err)
		err = wait_resume(s, PTRACE_SYSEMU, st);
	return err || s->dead ? err : now_load(s);
}

/*
 * Code that need not lock jumps over the prefix: a breakpoint or jump on what
 * follows it then turns the prefixed instruction into an invalid one.
 */
static bool is_lock_broken(struct stops *s, const struct tracee_stop *st)
{
	u64 ip = s->now.r[X86_RIP];
	u8 b;

	if (s->dead || st->kind != TRACEE_SIGNAL || st->sig != SIGILL ||
	    !patch_starts(s, ip + 1))
		return false;
	return !stops_read(s, ip, &b, 1) && b == 0xf0;
}

/*
 * The copy of a call pushes in parts, and a debug register has seen one of
 * them: the program stands before the call, which is stepped as a whole.
 */
static bool is_half_call(const struct stops *s, const struct tracee_stop *st)
{
	return s->part == PART_COPY && st->kind == TRACEE_SIGNAL && st->sig == SIGTRAP;
}

static int step_call(struct stops *s, struct tracee_stop *st)
{
	s->part = PART_NONE;
	s->placed = false;
	return step_once(s, st);
}

static int run_on(struct stops *s, struct stop_result *res)
{
	bool stepped, arrived = false;
	int err;

	for (;;) {
		/* A trampoline may have asked for another shape of its window. */
		err = s->dirty ? stops_arm(s) : 0;
		if (!err)
			err = go(s, &stepped, &res->stop);
		if (!err && !stepped && is_lock_broken(s, &res->stop)) {
			eval_moved(s);
			stepped = true;
			err = step_once(s, &res->stop);
		}
		if (!err && !s->dead)
			err = tramp_settle(s, &res->stop, stepped, &arrived);
		if (!err && is_half_call(s, &res->stop)) {
			stepped = true;
			err = step_call(s, &res->stop);
		}
		if (err)
			return err;
		bpf_pull(s);
		if (settle(s, stepped, arrived, res) == DONE)
			return 0;
		if (wait_over(s)) {
			res->kind = STOPPED_TIME;
			return 0;
		}
	}
}

static int run_step(struct stops *s, struct stop_result *res)
{
	bool arrived = false;
	int err = tramp_push(s);

	bpf_push(s);
	if (!err)
		err = step_once(s, &res->stop);
	if (!err && !s->dead)
		err = tramp_settle(s, &res->stop, true, &arrived);
	if (err)
		return err;
	bpf_pull(s);
	if (settle(s, true, arrived, res) == GO_ON || res->kind == STOPPED_COND)
		res->kind = STOPPED_STEP;
	return 0;
}

int stops_run(struct stops *s, const struct stops_run_opts *o, struct stop_result *res)
{
	int err;

	memset(res, 0, sizeof(*res));
	res->watch = -1;
	if (s->dead)
		return -ESRCH;
	err = now_load(s);
	if (!err)
		err = stops_arm(s);
	if (err)
		return err;
	if (s->fresh || !regs_equal(&s->now, &s->left))
		eval_moved(s);
	if (o->look_here && arrive(s, res) == DONE)
		goto out;
	eval_leave(s);
	err = wait_begin(s, o);
	if (!err)
		err = o->step ? run_step(s, res) : run_on(s, res);
	wait_end(s);
out:
	if (!err && !s->dead)
		err = now_store(s);
	if (!err)
		err = wait_flush(s);
	s->fresh = false;
	s->left = s->now;
	res->regs = s->now;
	return err;
}
