/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * window.c - the states just before a place, by single-stepping from a place
 * near enough.
 *
 * Near enough is found by counting: of the instructions that a stepped stretch
 * was seen to execute, the last pass of each before the wanted place is found
 * in one native run, and the latest of those last passes is where to step
 * from. Only instructions that were seen are counted: nothing is guessed about
 * where instructions begin.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "replay/replay.h"

#define STEPS	   1500 /* one stretch */
#define ROUNDS	   400
#define CANDIDATES 10
#define APART	   16 /* bytes between two candidates */
#define REP_KEEP   64 /* iterations of a rep instruction that are stepped */
#define TRY_NS	   (2 * NSEC_PER_MSEC)

void window_drop(struct timeline *t)
{
	world_free(t->win.w);
	t->win.w = NULL;
	t->win.n = 0;
	t->win.from = (struct pos){0};
}

ssize_t window_index(struct timeline *t)
{
	const struct window *w = &t->win;
	struct pos before = t->pos;
	u64 steps = 0;

	if (!w->n)
		return -1;
	if (pos_equal(&t->pos, &w->here))
		return w->at;
	/* Stepped forwards from there. */
	if (!before.n_hops || before.hops[before.n_hops - 1].kind != HOP_STEP)
		return -1;
	steps = before.hops[--before.n_hops].n;
	if (!pos_equal(&before, &w->here) || w->at + steps >= w->n)
		return -1;
	return w->at + steps;
}

static int begin(struct timeline *t)
{
	struct window *w = &t->win;
	struct thread *th = session_thread(t);
	int err;

	world_free(w->w);
	w->w = NULL;
	w->n = 0;
	err = array_reserve(&w->r, &w->cap, STEPS + 1, sizeof(w->r[0]));
	if (!err)
		err = world_fork(t->now, &w->w);
	if (err)
		return err;
	w->from = t->pos;
	w->here = t->pos;
	w->at = 0;
	w->r[w->n++] = th->regs;
	return 0;
}

static int restart(struct timeline *t)
{
	struct world *w;
	int err = world_fork(t->win.w, &w);

	if (err)
		return err;
	ckpt_enter(t, w);
	t->pos = t->win.from;
	t->strayed = false;
	return 0;
}

/* Arrivals at @ip among r[1..i]; iterations of one rep instruction are one. */
static u64 arrivals(const struct window *w, size_t i, u64 ip, bool rep, size_t *last)
{
	u64 n = 0;

	*last = 0;
	for (size_t k = 1; k <= i; k++) {
		if (w->r[k].r[X86_RIP] != ip || (rep && w->r[k - 1].r[X86_RIP] == ip))
			continue;
		n++;
		*last = k;
	}
	return n;
}

int window_goto(struct timeline *t, size_t i)
{
	struct window *w = &t->win;
	struct hop h = {.kind = HOP_PASS, .ip = w->r[i].r[X86_RIP]};
	struct thread *th;
	size_t last;
	u32 rep;
	int err;

	err = restart(t);
	th = err ? NULL : session_thread(t);
	if (!th)
		return err ? err : -EIO;
	rep = rep_length(th, h.ip);
	h.n = arrivals(w, i, h.ip, rep, &last);
	if (h.n)
		err = pos_advance(t, &h);
	if (!err && rep && last < i) {
		h = (struct hop){.kind = HOP_REP, .ip = h.ip, .len = rep, .n = i - last};
		err = pos_advance(t, &h);
	}
	if (err)
		return err;
	if (!regs_equal(&th->regs, &w->r[i])) {
		char diff[200];

		regs_diff(&w->r[i], &th->regs, diff, sizeof(diff));
		log_error("a stepped state is not met again: %s", diff);
		return -EIO;
	}
	t->now->tid = th->tid;
	t->pos.tid = th->tid;
	w->here = t->pos;
	w->at = i;
	return 0;
}

/* ---- towards the place ---- */

struct chase {
	struct timeline *t;
	struct pos to; /* canonical */
	u64 ip;	       /* of the place */
	u64 left;      /* passes over it from the window's start */
};

/*
 * Skip most of a long rep instruction that the thread is in; the window starts
 * anew behind it.
 */
static int skip_rep(struct chase *c, struct thread *th)
{
	u64 ip = th->regs.r[X86_RIP];
	struct hop steps = {.kind = HOP_STEP, .n = c->t->win.n - 1};
	struct hop h = {.kind = HOP_REP, .ip = ip, .n = th->regs.r[X86_RCX] - REP_KEEP};
	int err;

	h.len = rep_length(th, ip);
	if (!h.len)
		return 0;
	err = pos_now_hop(c->t, &steps);
	if (!err)
		err = pos_advance(c->t, &h);
	return err ? err : begin(c->t);
}

/*
 * Step from the window's start. 1: the place is r[n - 1]; 0: it is farther,
 * and c->left still counts from the window's start.
 */
static int stretch(struct chase *c)
{
	struct stops_run_opts o = {.step = true};
	struct timeline *t = c->t;
	struct window *w = &t->win;
	u64 met = 0;
	struct run_result r;
	int err;

	while (w->n <= STEPS) {
		struct thread *th = session_thread(t);
		u64 was = w->r[w->n - 1].r[X86_RIP];
		bool again;

		err = session_run(t, &o, &r);
		if (err)
			return err;
		if (r.end != RUN_STOP)
			return -ENOENT;
		if (r.res.kind != STOPPED_STEP)
			continue;
		w->r[w->n++] = th->regs;
		again = th->regs.r[X86_RIP] == was;
		if (again && th->regs.r[X86_RCX] > 4 * REP_KEEP) {
			err = skip_rep(c, th);
			if (err)
				return err;
			if (w->n == 1) {
				c->left -= met;
				met = 0;
				continue;
			}
		}
		if (th->regs.r[X86_RIP] != c->ip || (again && rep_length(th, c->ip)))
			continue;
		if (++met == c->left)
			return 1;
	}
	return 0;
}

struct candidate {
	u64 ip;
	int id;
	u64 count; /* passes between the window's start and the place */
};

static size_t choose(struct chase *c, struct candidate *v)
{
	const struct window *w = &c->t->win;
	size_t n = 0;

	/* From the end backwards, what was met last is likeliest to go on. */
	for (size_t i = w->n - 1; i > 0 && n < CANDIDATES; i -= 1 + i / 64) {
		u64 ip = w->r[i].r[X86_RIP];
		bool near = false;

		for (size_t k = 0; k < n; k++)
			near |= ip - v[k].ip + APART < 2 * APART;
		if (!near && ip - c->ip + APART >= 2 * APART)
			v[n++] = (struct candidate){.ip = ip, .id = -1};
		if (i == 0)
			break;
	}
	return n;
}

static void remove_all(struct stops *s, struct candidate *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].id >= 0)
			stops_remove(s, v[i].id);
		v[i].id = -1;
	}
}

/* Count the passes of all candidates from the window's start to the place. */
static int count(struct chase *c, struct candidate *v, size_t n)
{
	struct stop_cond end = {.ip = c->ip, .pass = c->left};
	struct stops_run_opts o = {.budget_ns = TRY_NS};
	struct timeline *t = c->t;
	struct run_result r;
	struct stops *s;
	int err, id;

	err = restart(t);
	if (!err)
		err = space_load(session_thread(t), t->opts.force);
	if (err)
		return err;
	s = session_thread(t)->space->stops;
	err = stops_add(s, &end, &id);
	for (size_t i = 0; !err && i < n; i++) {
		struct stop_cond k = {.ip = v[i].ip, .count_only = true};

		err = stops_add(s, &k, &v[i].id);
	}
	while (!err) {
		err = session_run(t, &o, &r);
		if (!err && r.end != RUN_STOP)
			err = -ENOENT;
		if (err || (r.res.kind == STOPPED_COND && (r.res.conds & 1ULL << id)))
			break;
		/* It is a long way: what makes it slow is not worth it. */
		for (size_t i = 0; o.budget_ns && i < n; i++)
			if (v[i].id >= 0 && stops_way(s, v[i].id) != STOP_TRAMPOLINE &&
			    t->opts.force == STOP_AUTO && n > 1)
				remove_all(s, &v[i], 1);
		o.budget_ns = 0;
	}
	for (size_t i = 0; i < n; i++)
		v[i].count = v[i].id >= 0 ? stops_count(s, v[i].id) : 0;
	remove_all(s, v, n);
	stops_remove(s, id);
	return err;
}

/*
 * From the window's start to the latest of the last passes. The present's
 * place is set; 0 passes over the place's own ip were missed.
 */
static int latest(struct chase *c, struct candidate *v, size_t n, size_t todo)
{
	struct stop_cond own = {.ip = c->ip, .count_only = true};
	struct stops_run_opts o = {0};
	struct timeline *t = c->t;
	struct run_result r;
	struct hop h = {.kind = HOP_PASS};
	struct stops *s;
	int err, id;

	err = restart(t);
	if (!err)
		err = space_load(session_thread(t), t->opts.force);
	if (err)
		return err;
	s = session_thread(t)->space->stops;
	err = stops_add(s, &own, &id);
	for (size_t i = 0; !err && i < n; i++) {
		struct stop_cond k = {.ip = v[i].ip, .pass = v[i].count};

		if (v[i].count)
			err = stops_add(s, &k, &v[i].id);
	}
	while (!err && todo) {
		err = session_run(t, &o, &r);
		if (!err && r.end != RUN_STOP)
			err = -ENOENT;
		for (size_t i = 0; !err && i < n; i++) {
			if (v[i].id < 0 || r.res.kind != STOPPED_COND ||
			    !(r.res.conds & 1ULL << v[i].id))
				continue;
			todo--;
			h.ip = v[i].ip;
			h.n = v[i].count;
			remove_all(s, &v[i], 1);
		}
	}
	if (!err)
		c->left -= stops_count(s, id);
	remove_all(s, v, n);
	stops_remove(s, id);
	return err ? err : pos_now_hop(t, &h);
}

/* The place is beyond the stretch: begin the window nearer to it. */
static int nearer(struct chase *c)
{
	struct candidate v[CANDIDATES];
	struct timeline *t = c->t;
	struct window *w = &t->win;
	size_t n = choose(c, v), todo = 0, last;
	bool beyond = false;
	int err = count(c, v, n);

	for (size_t i = 0; !err && i < n; i++) {
		u64 in = arrivals(w, w->n - 1, v[i].ip, true, &last);

		beyond |= v[i].count > in;
		todo += v[i].count > 0;
	}
	if (!err && beyond) {
		err = latest(c, v, n, todo);
	} else if (!err) {
		/* Nothing of it is executed again: go on at its end. */
		c->left -= arrivals(w, w->n - 1, c->ip,
				    rep_length(session_thread(t), c->ip), &last);
		err = window_goto(t, w->n - 1);
	}
	return err ? err : begin(t);
}

static int chase(struct chase *c)
{
	struct timeline *t = c->t;
	int err = begin(t);

	for (int i = 0; !err && i < ROUNDS; i++) {
		if (t->opts.interrupt && *t->opts.interrupt)
			return -EINTR;
		err = stretch(c);
		if (err == 1)
			return 0;
		if (!err)
			err = nearer(c);
	}
	return err ? err : -ETIMEDOUT;
}

int window_build(struct timeline *t, const struct pos *p)
{
	struct chase c = {.t = t};
	struct pos from;
	int err;

	err = pos_canon(t, p, &c.to);
	if (err)
		return err;
	if (!c.to.n_hops)
		return -EINVAL;
	window_drop(t);
	from = c.to;
	from.n_hops = 0;
	from.regs = (struct regs){0};
	c.ip = c.to.hops[0].ip;
	c.left = c.to.hops[0].n;
	/* The pass before is before it, and not farther than the base. */
	if (c.left > 1) {
		from.n_hops = 1;
		from.hops[0] = c.to.hops[0];
		from.hops[0].n--;
		c.left = 1;
	}
	err = pos_goto(t, &from);
	if (!err)
		err = chase(&c);
	if (err) {
		window_drop(t);
		return err == -ENOENT ? -EIO : err;
	}
	if (c.to.n_hops == 1 && !regs_equal(&t->win.r[t->win.n - 1], &p->regs)) {
		log_error("the place sought was not met by stepping");
		window_drop(t);
		return -EIO;
	}
	return 0;
}
