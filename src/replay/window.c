/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * window.c - the states just before a place, by single-stepping from a place
 * near enough.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "replay/replay.h"

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

int window_begin(struct timeline *t)
{
	struct window *w = &t->win;
	struct thread *th = session_thread(t);
	int err;

	world_free(w->w);
	w->w = NULL;
	w->n = 0;
	err = array_reserve(&w->r, &w->cap, WINDOW_STEPS + 1, sizeof(w->r[0]));
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

int window_restart(struct timeline *t)
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
u64 window_arrivals(const struct window *w, size_t i, u64 ip, bool rep, size_t *last)
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

	err = window_restart(t);
	th = err ? NULL : session_thread(t);
	if (!th)
		return err ? err : -EIO;
	rep = rep_length(th, h.ip);
	h.n = window_arrivals(w, i, h.ip, rep, &last);
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
