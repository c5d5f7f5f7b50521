/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * walk.c - which address space a sample was taken in: the events' maps are
 * followed from process to process, in one pass beside the samples.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "sym/sym.h"

/* An address space: shared by a vfork child and its parent. */
struct space {
	unsigned users;
	struct maps maps;
};

struct process {
	u32 pid;
	u32 threads; /* 0: it has ended */
	struct space *space;
};

/*
 * Samples of a process may still come when its end has been seen (they are
 * drained per thread), so the last ones that ended are kept.
 */
#define MAX_ENDED 64

struct walk {
	struct process *v; /* in order of birth */
	size_t n, cap, ended;
	struct maps none;
};

static struct space *space_new(void)
{
	struct space *s = calloc(1, sizeof(*s));

	if (s)
		s->users = 1;
	return s;
}

static void space_put(struct space *s)
{
	if (s && !--s->users) {
		maps_fini(&s->maps);
		free(s);
	}
}

static struct process *find(struct walk *w, u32 pid)
{
	/* From the youngest: a pid may be used again. */
	for (size_t i = w->n; i-- > 0;) {
		if (w->v[i].pid == pid)
			return &w->v[i];
	}
	return NULL;
}

static void drop(struct walk *w, size_t i)
{
	space_put(w->v[i].space);
	w->n--;
	memmove(w->v + i, w->v + i + 1, (w->n - i) * sizeof(*w->v));
}

static void drop_ended(struct walk *w)
{
	if (w->ended <= MAX_ENDED)
		return;
	for (size_t i = 0; i < w->n; i++) {
		if (w->v[i].threads)
			continue;
		drop(w, i);
		w->ended--;
		return;
	}
}

/* A process with one thread; takes over the caller's hold on @space. */
static int add(struct walk *w, u32 pid, struct space *space)
{
	int err = space ? array_reserve(&w->v, &w->cap, w->n + 1, sizeof(*w->v)) : -ENOMEM;

	if (err) {
		space_put(space);
		return err;
	}
	w->v[w->n++] = (struct process){.pid = pid, .threads = 1, .space = space};
	return 0;
}

static int born(struct walk *w, u32 parent, const struct effect *e)
{
	struct process *p = find(w, parent);
	struct space *s;
	int err;

	if (p && e->fork.pid == parent) {
		p->threads++;
		return 0;
	}
	if (p && e->fork.share) {
		p->space->users++;
		return add(w, e->fork.pid, p->space);
	}
	s = space_new();
	err = s && p ? maps_copy(&s->maps, &p->space->maps) : 0;
	if (err) {
		space_put(s);
		return err;
	}
	return add(w, e->fork.pid, s);
}

/* The thread that calls exec is the only one left, in a new space. */
static int fresh_image(struct walk *w, u32 pid)
{
	struct process *p = find(w, pid);
	struct space *s = space_new();

	if (!p)
		return add(w, pid, s);
	if (!s)
		return -ENOMEM;
	if (!p->threads)
		w->ended--;
	space_put(p->space);
	p->space = s;
	p->threads = 1;
	return 0;
}

static int apply(struct walk *w, const struct event *ev)
{
	struct process *p;
	int err = 0;

	if (ev->type == EV_EXEC || ev->type == EV_START)
		err = fresh_image(w, ev->pid);
	for (u32 i = 0; !err && i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];

		if (e->kind == EF_FORK) {
			err = born(w, ev->pid, e);
			continue;
		}
		p = find(w, ev->pid);
		if (p)
			err = maps_apply(&p->space->maps, e);
	}
	p = ev->type == EV_EXIT ? find(w, ev->pid) : NULL;
	if (!err && p && p->threads && !--p->threads) {
		w->ended++;
		drop_ended(w);
	}
	return err;
}

/* Apply all events up to number @last. */
static int advance(struct walk *w, struct trace_cursor *c, u64 *at, u64 last)
{
	const struct event *ev;
	int err;

	while (*at < last) {
		err = trace_cursor_next(c, &ev);
		if (err <= 0)
			return err;
		*at = ev->number;
		err = apply(w, ev);
		if (err)
			return err;
	}
	return 0;
}

int sym_each_sample(struct trace_reader *r, sym_sample_fn fn, void *ctx)
{
	u64 n = trace_reader_samples(r), at = 0;
	struct trace_cursor *c;
	struct walk w = {0};
	int err;

	err = trace_cursor_new(r, &c);
	if (err)
		return err;
	for (u64 i = 1; !err && i <= n; i++) {
		const struct sample *borrowed;
		const struct process *p;
		struct sample s;
		u64 last;

		err = trace_reader_sample(r, i, &borrowed);
		if (err)
			break;
		s = *borrowed;
		/* Inside a call the map is still as it was at its entry. */
		last = s.point.event;
		if (s.kind != SAMPLE_USER && last)
			last--;
		err = advance(&w, c, &at, last);
		if (err)
			break;
		p = find(&w, s.pid);
		err = fn(ctx, &s, p ? &p->space->maps : &w.none);
	}
	while (w.n)
		drop(&w, w.n - 1);
	free(w.v);
	trace_cursor_free(c);
	return err;
}
