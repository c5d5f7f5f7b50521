/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Telling the program's state from a stop anywhere in a trampoline.
 */
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>

#include "stop/internal.h"

/* Jumped into this often: the place gets a jump of its own. And this often,
 * with or without: the window is no gain. */
#define HOT_BOUNCES 6
#define MAX_BOUNCES 400

static void bar(struct stops *s, u64 ip)
{
	s->barred[s->n_barred++ % ARRAY_SIZE(s->barred)] = ip;
	s->dirty = true;
}

static struct tramp *of_code(const struct stops *s, u64 ip)
{
	for (u32 i = 0; i < s->n_tramps; i++)
		if (ip >= s->tramps[i]->code &&
		    ip - s->tramps[i]->code < s->tramps[i]->code_len)
			return s->tramps[i];
	return NULL;
}

static struct tramp *of_window(const struct stops *s, u64 ip)
{
	for (u32 i = 0; i < s->n_tramps; i++)
		if (ip >= s->tramps[i]->w.addr &&
		    ip - s->tramps[i]->w.addr < s->tramps[i]->w.len)
			return s->tramps[i];
	return NULL;
}

static void set_ip(struct stops *s, u64 ip)
{
	s->now.r[X86_RIP] = ip;
	s->now_set = false;
}

u64 tramp_past(struct stops *s, u64 ip)
{
	struct tramp *t = of_window(s, ip);
	int k = t ? code_index(&t->w, ip) : -1;

	return k < 0 ? ip : t->code + t->insns[k].copy;
}

/* rax and the flags of the program, at offset @off of instruction @in. */
static int restore(struct stops *s, const struct tramp *t, const struct tramp_insn *in,
		   u32 off)
{
	u64 saved[2];
	int err;

	if (in->slow && ((off >= in->rcx_used && off < in->rcx_back) || off == in->slow)) {
		s->now_set = false;
		return tracee_read(s->tid, t->data + offsetof(struct tramp_data, save_rcx),
				   &s->now.r[X86_RCX], 8);
	}
	if (!in->checked || off <= in->has_rax || off >= in->copy)
		return 0;
	err = tracee_read(s->tid, t->data, saved, sizeof(saved));
	if (err)
		return err;
	s->now.r[X86_RAX] = saved[0];
	for (int i = 0; i < t->n_checks; i++) {
		const struct tramp_check *k = &t->checks[i];

		if (k->cond >= 0 && off > k->hash && off < k->hashed)
			memcpy(s->now.r, s->conds[k->cond].c.regs.r, 16 * sizeof(u64));
	}
	if (off >= in->has_flags)
		s->now.r[X86_EFLAGS] = tramp_flags_unpack(s->now.r[X86_EFLAGS], saved[1]);
	return 0;
}

/* Which conditions of instruction @k were looked at before offset @off. */
static void mark_seen(struct stops *s, const struct tramp *t, int k, u32 off)
{
	for (int i = 0; i < t->n_checks; i++) {
		const struct tramp_check *c = &t->checks[i];
		struct cond *cond;

		if (c->insn != k || c->cond < 0 || off <= c->inc)
			continue;
		cond = &s->conds[c->cond];
		cond->seen = true;
		/* Past its end it had not held, or not for a stop. */
		cond->held = off < c->end || (off == c->end && s->tramp_hit);
		cond->held = cond->held && !cond->c.count_only &&
			     (!cond->c.pass || cond->count == cond->c.pass);
		if (cond->held)
			eval_confirm(s, cond);
		cond->due = cond->held;
	}
}

/* At offset @off of a trampoline: make s->now the program's. */
static int translate(struct stops *s, const struct tramp *t, u32 off)
{
	int k;

	for (k = 0; k < t->w.n; k++)
		if (off < t->insns[k].end)
			break;
	eval_moved(s);
	if (k == t->w.n) {
		set_ip(s, t->w.addr + t->w.len);
		return 0;
	}
	if (t->insns[k].checked) {
		int err = restore(s, t, &t->insns[k], off);

		if (err)
			return err;
	}
	if (t->insns[k].pushed && off > t->insns[k].pushed)
		s->now.r[X86_RSP] += 8;
	/* Between the halves of a loop instruction's copy: before it again. */
	if (t->w.insns[k].loops && off > t->insns[k].copy)
		s->now.r[X86_RCX]++;
	set_ip(s, t->w.addr + t->w.insns[k].at);
	mark_seen(s, t, k, off);
	return 0;
}

static const struct tramp *hit_at(const struct stops *s, u64 ip)
{
	const struct tramp *t = of_code(s, ip);

	for (int i = 0; t && i < t->n_checks; i++)
		if (ip == t->code + t->checks[i].end - 1 &&
		    (t->checks[i].cond < 0 || !s->conds[t->checks[i].cond].c.count_only))
			return t;
	return NULL;
}

/* Somebody jumped into the middle of a window: an arrival like any other. */
static bool bounce(struct stops *s, struct tramp *t, u64 ip)
{
	int k = code_index(&t->w, ip);

	if (ip <= t->w.addr || ip >= t->w.addr + t->w.cover)
		return false;
	if (++t->bounces == HOT_BOUNCES && k > 0 && !tramp_is_hot(s, ip)) {
		s->hot[s->n_hot++ % ARRAY_SIZE(s->hot)] = ip;
		s->dirty = true;
	}
	if (t->bounces == MAX_BOUNCES)
		for (u32 i = 0; i < s->n_sites; i++)
			if (code_index(&t->w, s->sites[i].ip) >= 0)
				bar(s, s->sites[i].ip);
	eval_moved(s);
	set_ip(s, ip);
	return true;
}

bool tramp_inside(const struct stops *s, u64 ip)
{
	const struct tramp *t = of_window(s, ip);

	return t && ip < t->w.addr + t->w.cover && code_index(&t->w, ip) < 0;
}

/* On a stub, on the way to an instruction: nothing has been done for it yet. */
static bool on_stub(struct stops *s, u64 ip)
{
	for (u32 i = 0; i < s->n_tramps; i++) {
		const struct tramp *t = s->tramps[i];

		for (int k = 0; k < t->n_stubs; k++) {
			if (t->stubs[k].addr != ip)
				continue;
			eval_moved(s);
			set_ip(s, t->w.addr + t->w.insns[t->stubs[k].insn].at);
			return true;
		}
	}
	return false;
}

static enum tramp_part part_at(const struct tramp *t, u32 off)
{
	for (int k = 0; k < t->w.n; k++) {
		const struct tramp_insn *in = &t->insns[k];

		if (off > in->entry && off < in->copy)
			return PART_CHECK;
		if (off > in->copy && off < in->end)
			return PART_COPY;
	}
	return PART_NONE;
}

/* An int3's trap; a debug register's may come anywhere in a window. */
static bool is_int3(const struct stops *s, const struct tracee_stop *st)
{
	siginfo_t si = {0};

	if (st->kind != TRACEE_SIGNAL || st->sig != SIGTRAP)
		return false;
	if (!s->dr_set)
		return true;
	return !ptrace(PTRACE_GETSIGINFO, s->tid, 0, &si) && si.si_code == SI_KERNEL;
}

int tramp_settle(struct stops *s, const struct tracee_stop *st, bool stepped, bool *arrived)
{
	u64 ip = s->now.r[X86_RIP];
	const struct tramp *t;
	struct tramp *w;
	int err;

	*arrived = false;
	s->placed = false;
	s->part = PART_NONE;
	if (!s->n_tramps)
		return 0;
	err = tramp_pull(s);
	if (err)
		return err;
	/* A step runs the program's own bytes: whatever it met is real. */
	if (!s->n_tramps || stepped)
		return 0;
	if (is_int3(s, st)) {
		t = hit_at(s, ip - 1);
		if (t) {
			*arrived = s->placed = s->tramp_hit = true;
			err = translate(s, t, ip - t->code);
			s->tramp_hit = false;
			return err;
		}
		w = of_window(s, ip - 1);
		*arrived = w && bounce(s, w, ip - 1);
	} else if (st->kind == TRACEE_SIGNAL && (st->sig == SIGILL || st->sig == SIGSEGV)) {
		w = of_window(s, ip);
		*arrived = w && bounce(s, w, ip);
	}
	if (*arrived)
		return 0;
	if (on_stub(s, ip)) {
		s->placed = true;
		return 0;
	}
	t = of_code(s, ip);
	if (!t)
		return 0;
	s->placed = true;
	s->part = part_at(t, ip - t->code);
	if (st->kind == TRACEE_SIGNAL && (st->sig == SIGSEGV || st->sig == SIGBUS))
		*arrived = s->part == PART_CHECK;
	return translate(s, t, ip - t->code);
}
