/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chase.c - find a place near enough before another one to single-step from.
 *
 * Near enough is found by counting: of the instructions that a stepped stretch
 * was seen to execute, the last pass of each before the wanted place is found
 * in one native run, and the latest of those last passes is where to step
 * from. Only instructions that were seen are counted: nothing is guessed about
 * where instructions begin.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "replay/replay.h"

#define ROUNDS	   400
#define CANDIDATES 10
#define APART	   16 /* bytes between two candidates */
#define REP_KEEP   64 /* iterations of a rep instruction that are stepped */
#define TRY_NS	   (2 * NSEC_PER_MSEC)
#define FAR_NS	   (NSEC_PER_MSEC / 2)
#define WIDE	   200 /* states that a window is to have */

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
	return err ? err : window_begin(c->t);
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

	while (w->n <= WINDOW_STEPS) {
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

	err = window_restart(t);
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

	err = window_restart(t);
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

/* Run to a pass while those over the place's own ip are counted. */
static int run_counting(struct chase *c, u64 ip, u64 n)
{
	struct stop_cond own = {.ip = c->ip, .count_only = true};
	struct hop h = {.kind = HOP_PASS, .ip = ip, .n = n};
	struct timeline *t = c->t;
	struct thread *th = session_thread(t);
	int err, id;

	err = space_load(th, t->opts.force);
	if (!err)
		err = stops_add(th->space->stops, &own, &id);
	if (err)
		return err;
	err = pos_advance(t, &h);
	c->left -= stops_count(th->space->stops, id);
	stops_remove(th->space->stops, id);
	return err;
}

/*
 * The base is far: checkpoints on the way, ever denser towards the place, by
 * passes over @ip, of which there are @n before it. The present is the base.
 */
static int lay_clock(struct chase *c, u64 ip, u64 n)
{
	u64 done = 0;
	int err = 0;

	for (int i = 1; !err && i < 16 && n >> i >= 4; i++) {
		u64 next = n - (n >> i);

		err = run_counting(c, ip, next - done);
		if (!err)
			err = ckpt_inside(c->t, true);
		done = next;
	}
	return err;
}

/* The place is beyond the stretch: begin the window nearer to it. */
static int nearer(struct chase *c)
{
	struct candidate v[CANDIDATES];
	struct timeline *t = c->t;
	struct window *w = &t->win;
	size_t n = choose(c, v), todo = 0, last;
	struct candidate *most = v;
	bool beyond = false;
	int err = count(c, v, n);

	for (size_t i = 0; !err && i < n; i++) {
		u64 in = window_arrivals(w, w->n - 1, v[i].ip, true, &last);

		beyond |= v[i].count > in;
		todo += v[i].count > 0;
		if (v[i].count > most->count)
			most = &v[i];
	}
	if (!err && beyond && t->now->cost - w->w->cost > FAR_NS && most->count >= 8) {
		err = window_restart(t);
		if (!err)
			err = lay_clock(c, most->ip, most->count);
	} else if (!err && beyond) {
		err = latest(c, v, n, todo);
	} else if (!err) {
		/* Nothing of it is executed again: go on at its end. */
		c->left -= window_arrivals(w, w->n - 1, c->ip,
					   rep_length(session_thread(t), c->ip), &last);
		err = window_goto(t, w->n - 1);
	}
	return err ? err : window_begin(t);
}

static int chase(struct chase *c)
{
	struct timeline *t = c->t;
	int err = window_begin(t);

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

/*
 * Few states were between the window's start and the place: start some passes
 * earlier, so that the next steps back are answered from memory. If that is
 * too far, it stays as it was.
 */
static int widen(struct chase *c)
{
	struct timeline *t = c->t;
	struct pos was = t->win.from, from = was;
	struct hop *h = from.n_hops ? &from.hops[from.n_hops - 1] : NULL;
	u64 n = t->win.n, left = c->left, back;
	int err;

	if (!h || h->kind != HOP_PASS || h->n < 2)
		return 0;
	back = MIN(h->n - 1, WINDOW_STEPS / 2 / n);
	h->n -= back;
	from.regs = (struct regs){0};
	err = pos_goto(t, &from);
	if (err)
		return err;
	c->left = 0;
	err = run_counting(c, h->ip, back);
	c->left = left - c->left; /* it counted downwards */
	if (!err)
		err = pos_goto(t, &from);
	if (!err)
		err = window_begin(t);
	if (!err)
		err = stretch(c);
	if (err == 1)
		return 0;
	if (!err) {
		c->left = left;
		err = pos_goto(t, &was);
	}
	if (!err)
		err = window_begin(t);
	if (!err)
		err = stretch(c);
	return err == 1 ? 0 : err ? err : -EIO;
}

/* The present is the base: to the pass over the place's ip before it. */
static int approach(struct chase *c)
{
	struct timeline *t = c->t;
	u64 cost = t->now->cost, left = c->left;
	struct pos base = t->pos;
	int err = 0;

	if (left > 1)
		err = run_counting(c, c->ip, left - 1);
	if (!err && t->now->cost - cost > FAR_NS && left >= 8) {
		err = pos_base(t, &base);
		c->left = left;
		if (!err)
			err = lay_clock(c, c->ip, left);
		if (!err && c->left > 1)
			err = run_counting(c, c->ip, c->left - 1);
	}
	if (!err)
		err = chase(c);
	if (!err && t->win.n < WIDE)
		err = widen(c);
	return err;
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
	err = pos_base(t, &from);
	if (!err)
		err = approach(&c);
	if (err) {
		window_drop(t);
		return err == -ENOENT ? -EIO : err;
	}
	if (c.to.n_hops == 1 && !regs_equal(&t->win.r[t->win.n - 1], &p->regs)) {
		char diff[200];

		regs_diff(&p->regs, &t->win.r[t->win.n - 1], diff, sizeof(diff));
		log_error("event %lu: pass %lu of %#lx is another one than was met: %s",
			  c.to.event, c.to.hops[0].n, c.ip, diff);
		window_drop(t);
		return -EIO;
	}
	return 0;
}
