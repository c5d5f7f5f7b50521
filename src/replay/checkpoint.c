/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * checkpoint.c - frozen copies of the world along the recording.
 *
 * One at the start of an interval is named by its event. One inside an
 * interval is named by how it was reached from the one before (`at`); if that
 * was by the clock, it is found out when somebody must cross it backwards.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "replay/replay.h"

#define MAX_CKPTS 40
/* Kernel tasks that all checkpoints together may hold. */
#define MAX_TASKS 400
/* A copy may take this share of the replay between two. */
#define FORK_SHARE 20

struct ckpt *ckpt_find(struct timeline *t, u32 id)
{
	for (size_t i = 0; i < t->n_ckpts; i++)
		if (t->ckpts[i].id == id)
			return &t->ckpts[i];
	return NULL;
}

static int add(struct timeline *t, struct ckpt **out)
{
	struct world *w;
	u64 from = now_ns();
	int err;

	err = array_reserve(&t->ckpts, &t->cap_ckpts, t->n_ckpts + 1, sizeof(t->ckpts[0]));
	if (!err)
		err = world_fork(t->now, &w);
	if (err)
		return err;
	t->fork_ns = now_ns() - from;
	*out = &t->ckpts[t->n_ckpts++];
	**out = (struct ckpt){.id = ++t->last_ckpt,
			      .w = w,
			      .event = w->event,
			      .cost = w->cost,
			      .offset = w->cost - w->start_cost,
			      .at = t->pos};
	return 0;
}

/* The cost at the last checkpoint at or before the present. */
static u64 last_cost(const struct timeline *t)
{
	u64 cost = 0;

	for (size_t i = 0; i < t->n_ckpts; i++)
		if (t->ckpts[i].w && t->ckpts[i].cost <= t->now->cost)
			cost = MAX(cost, t->ckpts[i].cost);
	return cost;
}

int ckpt_start(struct timeline *t)
{
	struct ckpt *c;
	int err = add(t, &c);

	if (!err)
		c->known = true;
	return err;
}

int ckpt_lay(struct timeline *t)
{
	u64 gap = MAX(CKPT_NS, t->fork_ns * FORK_SHARE);
	struct ckpt *c;
	int err;

	if (t->n_ckpts && t->now->cost - last_cost(t) < gap)
		return 0;
	err = add(t, &c);
	if (err)
		return err;
	c->known = true;
	ckpt_thin(t);
	return 0;
}

int ckpt_inside(struct timeline *t, bool known)
{
	struct thread *th = world_thread(t->now, t->now->tid);
	struct ckpt *c;
	int err;

	if (!th)
		return -ESRCH;
	err = add(t, &c);
	if (err)
		return err;
	c->inside = true;
	c->known = known;
	c->at.regs = th->regs;
	c->at.tid = th->tid;
	t->strayed = false;
	t->pos = (struct pos){
		.event = c->event, .base = c->id, .tid = th->tid, .regs = th->regs};
	return 0;
}

void ckpt_enter(struct timeline *t, struct world *w)
{
	struct world *old = t->now;

	breaks_disarm(t);
	if (t->point_cond >= 0)
		stops_remove(t->point_space->stops, t->point_cond);
	t->now = w;
	t->point_cond = -1;
	t->told_signal = 0;
	session_forget(t);
	world_free(old);
}

int ckpt_restore(struct timeline *t, const struct ckpt *c)
{
	struct world *w;
	int err = world_fork(c->w, &w);

	if (err)
		return err;
	ckpt_enter(t, w);
	pos_now_start(t);
	if (c->inside)
		t->pos.base = c->id;
	return 0;
}

struct ckpt *ckpt_before(struct timeline *t, u64 number)
{
	struct ckpt *best = NULL;

	for (size_t i = 0; i < t->n_ckpts; i++) {
		struct ckpt *c = &t->ckpts[i];

		if (!c->w || c->event > number || (c->inside && c->event == number))
			continue;
		if (!best || c->event > best->event ||
		    (c->event == best->event && c->cost > best->cost))
			best = c;
	}
	return best;
}

u32 ckpt_inside_before(const struct timeline *t, u64 number, u64 offset)
{
	const struct ckpt *best = NULL;

	for (size_t i = 0; i < t->n_ckpts; i++) {
		const struct ckpt *c = &t->ckpts[i];

		if (c->w && c->inside && c->event == number && c->offset <= offset &&
		    (!best || c->offset > best->offset))
			best = c;
	}
	return best ? best->id : 0;
}

u32 ckpt_last_inside(const struct timeline *t, u64 number)
{
	return ckpt_inside_before(t, number, ~0ULL);
}

/* How little is lost by giving up @c: the gap it leaves, seen from the present. */
static double worth(const struct timeline *t, const struct ckpt *c)
{
	u64 before = 0, after = t->now->cost;
	u64 away = c->cost > t->now->cost ? c->cost - t->now->cost : t->now->cost - c->cost;

	for (size_t i = 0; i < t->n_ckpts; i++) {
		const struct ckpt *o = &t->ckpts[i];

		if (!o->w || o == c)
			continue;
		if (o->cost <= c->cost)
			before = MAX(before, o->cost);
		else
			after = MIN(MAX(after, c->cost), o->cost);
	}
	after = MAX(after, c->cost);
	return (double)(after - before) / (double)(away + CKPT_NS);
}

static bool needed(const struct timeline *t, const struct ckpt *c)
{
	return c->id == 1 || c->id == t->pos.base || c->id == t->win.from.base;
}

static bool unused(const struct timeline *t, const struct ckpt *c)
{
	if (c->id == 1 || c->id == t->pos.base || c->id == t->win.from.base)
		return false;
	for (size_t i = 0; i < t->n_ckpts; i++)
		if (t->ckpts[i].at.base == c->id)
			return false;
	return true;
}

static void give_up(struct timeline *t, struct ckpt *c)
{
	world_free(c->w);
	c->w = NULL;
	/* No way leads there: those based on it are to be found from before it. */
	for (size_t i = 0; !c->known && i < t->n_ckpts; i++) {
		struct pos *at = &t->ckpts[i].at;
		struct pos to = c->at;

		if (at->base != c->id)
			continue;
		to.tid = at->tid;
		to.regs = at->regs;
		*at = to;
		t->ckpts[i].known = false;
	}
	if (unused(t, c))
		*c = t->ckpts[--t->n_ckpts];
}

void ckpt_thin(struct timeline *t)
{
	size_t max = t->opts.max_checkpoints ? t->opts.max_checkpoints : MAX_CKPTS;

	for (;;) {
		size_t have = 0, tasks = 0;
		struct ckpt *least = NULL;
		double low = 0;

		for (size_t i = 0; i < t->n_ckpts; i++) {
			struct ckpt *c = &t->ckpts[i];
			double v;

			if (!c->w)
				continue;
			have++;
			tasks += c->w->n_spaces;
			if (needed(t, c))
				continue;
			v = worth(t, c);
			if (!least || v < low) {
				least = c;
				low = v;
			}
		}
		if (!least || (have <= max && tasks <= MAX_TASKS))
			return;
		give_up(t, least);
	}
}

void ckpt_free_all(struct timeline *t)
{
	for (size_t i = 0; i < t->n_ckpts; i++)
		world_free(t->ckpts[i].w);
	free(t->ckpts);
	t->ckpts = NULL;
	t->n_ckpts = t->cap_ckpts = 0;
}

/* The way to the present, told in so few hops that more can follow. */
static int shorten(struct timeline *t)
{
	struct pos p = t->pos, canon;
	int err;

	if (p.n_hops + 2 <= POS_HOPS)
		return 0;
	err = pos_canon(t, &p, &canon);
	if (!err)
		t->pos = canon;
	return err;
}

/*
 * One laid by the clock: from the one before, the first place with its
 * registers and its memory.
 */
int ckpt_resolve(struct timeline *t, struct ckpt *c)
{
	u32 id = c->id;
	struct point p = {.event = c->event, .tid = c->at.tid, .regs = c->at.regs};
	struct world *w = t->now;
	struct pos at = c->at;
	int err;

	if (c->known)
		return 0;
	/* Its own print, as complete as can be. */
	t->now = c->w;
	err = point_of(t, world_thread(c->w, c->at.tid), &p);
	t->now = w;
	at.regs = (struct regs){0};
	if (!err)
		err = pos_base(t, &at);
	if (!err)
		err = pos_run(t, &at);
	if (!err)
		err = shorten(t);
	if (!err)
		err = seek_from_here(t, &p);
	point_fini(&p);
	if (err) {
		log_error("checkpoint after event %lu is not met again", p.event);
		return err == -ENOENT ? -EIO : err;
	}
	c = ckpt_find(t, id);
	if (t->pos.base == c->at.base) {
		c->at = t->pos;
		c->known = true;
	}
	return 0;
}
