/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pos.c - places by how to get there, and going there.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "replay/replay.h"

bool pos_is_start(const struct pos *p)
{
	return !p->base && !p->n_hops && !p->arrived;
}

bool pos_equal(const struct pos *a, const struct pos *b)
{
	return a->event == b->event && a->base == b->base && a->arrived == b->arrived &&
	       a->n_hops == b->n_hops &&
	       !memcmp(a->hops, b->hops, a->n_hops * sizeof(a->hops[0]));
}

int pos_hop(struct pos *p, const struct hop *h)
{
	struct hop *last = p->n_hops ? &p->hops[p->n_hops - 1] : NULL;

	if (!h->n)
		return 0;
	if (last && last->kind == h->kind &&
	    (h->kind == HOP_STEP || (h->kind == HOP_PASS && last->ip == h->ip))) {
		last->n += h->n;
		return 0;
	}
	if (p->n_hops == POS_HOPS)
		return -ENOSPC;
	p->hops[p->n_hops++] = *h;
	return 0;
}

static void note_regs(struct timeline *t)
{
	struct thread *th = world_thread(t->now, t->now->tid);

	t->strayed = false;
	t->pos.tid = t->now->tid;
	if (th)
		t->pos.regs = th->regs;
}

void pos_now_start(struct timeline *t)
{
	t->pos = (struct pos){.event = t->now->event};
	note_regs(t);
}

int pos_now_hop(struct timeline *t, const struct hop *h)
{
	int err = pos_hop(&t->pos, h);

	if (err == -ENOSPC) {
		/* A checkpoint here makes the way short again; what it is reached
		 * by, all hops but this one, is not where it stands: found out
		 * later if needed. */
		err = ckpt_inside(t, false);
	}
	note_regs(t);
	t->pos.arrived = t->now->arrived;
	return err;
}

int pos_base(struct timeline *t, const struct pos *p)
{
	struct ckpt *c;
	struct pos at;
	int err;

	if (p->base) {
		c = ckpt_find(t, p->base);
		if (!c)
			return -EIO;
		if (c->w)
			return ckpt_restore(t, c);
		at = c->at;
		err = pos_goto(t, &at);
		if (err)
			return err;
		t->pos = (struct pos){.event = at.event, .base = p->base};
		note_regs(t);
		return 0;
	}
	return seek_event(t, p->event);
}

static int lost(struct timeline *t, const struct pos *p, const char *what)
{
	log_error("event %" PRIu64 ", thread %u: a place known is not met again: %s",
		  p->event, p->tid, what);
	(void)t;
	return -EIO;
}

static int run_pass(struct timeline *t, struct thread *th, const struct hop *h)
{
	struct stop_cond c = {.ip = h->ip, .pass = h->n};
	struct stops_run_opts o = {0};
	struct run_result r;
	int err, id;

	err = space_load(th, t->opts.force);
	if (!err)
		err = stops_add(th->space->stops, &c, &id);
	if (err)
		return err;
	do
		err = session_run(t, &o, &r);
	while (!err && r.end == RUN_STOP &&
	       !(r.res.kind == STOPPED_COND && (r.res.conds & 1ULL << id)));
	stops_remove(th->space->stops, id);
	if (!err && r.end != RUN_STOP)
		err = -ENOENT;
	return err;
}

static int run_watch(struct timeline *t, struct thread *th, const struct hop *h)
{
	struct stops_run_opts o = {0};
	struct run_result r = {.end = RUN_STOP};
	u64 left = h->n;
	int err, id;

	err = space_load(th, t->opts.force);
	if (!err)
		err = stops_watch(th->space->stops, h->watch, h->ip, h->len, &id);
	if (err)
		return err;
	while (!err && left && r.end == RUN_STOP) {
		err = session_run(t, &o, &r);
		if (!err && r.end == RUN_STOP && r.res.kind == STOPPED_WATCH &&
		    r.res.watch == id)
			left--;
	}
	stops_unwatch(th->space->stops, id);
	return err ? err : left ? -ENOENT : 0;
}

static int run_steps(struct timeline *t, u64 n)
{
	struct stops_run_opts o = {.step = true};
	struct run_result r;
	int err = 0;

	while (!err && n) {
		err = session_run(t, &o, &r);
		if (!err && r.end != RUN_STOP)
			return -ENOENT;
		if (!err && r.res.kind == STOPPED_STEP)
			n--;
	}
	return err;
}

static int run_hop(struct timeline *t, struct thread *th, const struct hop *h)
{
	switch ((enum hop_kind)h->kind) {
	case HOP_PASS:
		return run_pass(t, th, h);
	case HOP_STEP:
		return run_steps(t, h->n);
	case HOP_REP:
		return rep_run(t, th, h->len, h->n);
	case HOP_WATCH:
		return run_watch(t, th, h);
	}
	return -EINVAL;
}

int pos_advance(struct timeline *t, const struct hop *h)
{
	struct thread *th = session_thread(t);
	int err = th ? run_hop(t, th, h) : -ENOENT;

	return err ? err : pos_now_hop(t, h);
}

static int run_to_arrival(struct timeline *t)
{
	struct stops_run_opts o = {0};
	struct run_result r;
	int err;

	do
		err = session_run(t, &o, &r);
	while (!err && r.end == RUN_STOP);
	return err;
}

int pos_run(struct timeline *t, const struct pos *p)
{
	struct thread *th = session_thread(t);
	int err = 0;

	for (u32 i = 0; !err && i < p->n_hops; i++)
		err = th ? run_hop(t, th, &p->hops[i]) : -ENOENT;
	if (!err && p->arrived)
		err = run_to_arrival(t);
	if (err == -ENOENT)
		return lost(t, p, "its thread did not come there");
	if (err)
		return err;
	th = world_thread(t->now, p->tid);
	if (th) {
		t->now->tid = th->tid;
		if (!regs_equal(&th->regs, &p->regs) && p->regs.r[X86_RIP]) {
			char diff[200];

			regs_diff(&p->regs, &th->regs, diff, sizeof(diff));
			return lost(t, p, diff);
		}
	}
	t->pos = *p;
	note_regs(t);
	return 0;
}

/* Is the present on the way to @p, in its interval? Then how many hops of it
 * are done, with what is left of the next one in @rest. */
static bool on_the_way(const struct pos *from, const struct pos *p, struct pos *rest)
{
	u32 i = 0;

	if (from->event != p->event || from->base != p->base || from->arrived ||
	    from->n_hops > p->n_hops)
		return false;
	*rest = *p;
	for (; i < from->n_hops; i++) {
		const struct hop *a = &from->hops[i], *b = &p->hops[i];
		bool last = i + 1 == from->n_hops;

		if (a->kind != b->kind || a->ip != b->ip || a->len != b->len ||
		    a->watch != b->watch)
			return false;
		if (a->n == b->n)
			continue;
		if (!last || a->n > b->n || a->kind == HOP_REP)
			return false;
		break;
	}
	rest->n_hops = p->n_hops - i;
	memmove(rest->hops, &p->hops[i], rest->n_hops * sizeof(rest->hops[0]));
	if (i < from->n_hops)
		rest->hops[0].n -= from->hops[i].n;
	return true;
}

int pos_goto(struct timeline *t, const struct pos *p)
{
	struct pos to = *p, rest;
	int err;

	if (!t->strayed && on_the_way(&t->pos, &to, &rest)) {
		err = pos_run(t, &rest);
		t->pos = to;
		note_regs(t);
		return err;
	}
	err = pos_base(t, &to);
	return err ? err : pos_run(t, &to);
}

static bool is_canon(const struct pos *p)
{
	return !p->arrived &&
	       (!p->n_hops ||
		(p->hops[0].kind == HOP_PASS &&
		 (p->n_hops == 1 || (p->n_hops == 2 && p->hops[1].kind == HOP_REP))));
}

int pos_canon(struct timeline *t, const struct pos *p, struct pos *out)
{
	struct stop_cond c = {.ip = p->regs.r[X86_RIP], .count_only = true};
	struct pos to = *p;
	struct thread *th;
	struct hop h;
	u32 rep;
	int err, id;

	if (is_canon(p)) {
		*out = *p;
		return 0;
	}
	err = pos_base(t, p);
	th = err ? NULL : session_thread(t);
	if (!th)
		return err ? err : -EIO;
	err = space_load(th, t->opts.force);
	if (!err)
		err = stops_add(th->space->stops, &c, &id);
	if (err)
		return err;
	err = pos_run(t, p);
	h = (struct hop){
		.kind = HOP_PASS, .ip = c.ip, .n = stops_count(th->space->stops, id)};
	stops_remove(th->space->stops, id);
	if (err)
		return err;
	to.n_hops = 0;
	to.arrived = false;
	err = pos_hop(&to, &h);
	rep = rep_length(th, c.ip);
	if (err || !rep) {
		*out = to;
		return err;
	}
	/* Part-way through a rep instruction: from its first iteration. */
	to.regs.r[X86_RIP] = 0;
	err = pos_goto(t, &to);
	if (err)
		return err;
	h = (struct hop){.kind = HOP_REP, .ip = c.ip, .len = rep};
	h.n = t->pos.regs.r[X86_RCX] - p->regs.r[X86_RCX];
	err = pos_hop(&to, &h);
	to.regs = p->regs;
	*out = to;
	return err ? err : pos_goto(t, &to);
}
