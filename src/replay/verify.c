/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * verify.c - one pass over the recording that meets every sample and counts
 * how often it could be taken to be met.
 *
 * A few samples ahead are armed at a time, so that one that is never met does
 * not hide those after it; one that was met stays armed until the next one is.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "replay/replay.h"

#define AHEAD	  3    /* samples armed that are still to come */
#define MATCHES	  1000 /* and no more are counted of one sample: each costs a stop */
#define MAX_ARMED 24   /* with those that were passed over */

struct entry {
	u64 event, number;
	u32 tid;
	u8 kind;
};

struct pending {
	struct sample s;
	struct target g;
	int id; /* condition, -1: not armed */
	bool over;
	u64 matches, near;
	enum stop_way way;
	char why[256];
};

struct verify {
	struct timeline *t;
	struct verify_counts *c;
	void (*each)(void *ctx, const struct sample *s, u64 matches);
	void *ctx;
	struct entry *v;
	size_t n, at;
	/* of the present interval */
	struct pending *p;
	size_t n_p, cap_p;
	size_t armed; /* p[armed] is the first that was never armed */
	struct thread *th;
};

static int by_event(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int load_entries(struct verify *v)
{
	struct trace_reader *r = v->t->reader;
	const struct sample *s;

	v->n = trace_reader_samples(r);
	v->v = calloc(v->n + 1, sizeof(v->v[0]));
	if (!v->v)
		return -ENOMEM;
	for (size_t i = 0; i < v->n; i++) {
		int err = trace_reader_sample(r, i + 1, &s);

		if (err)
			return err;
		v->v[i] = (struct entry){s->point.event, s->number, s->tid, s->kind};
	}
	qsort(v->v, v->n, sizeof(v->v[0]), by_event);
	return 0;
}

static void count(struct verify *v, const struct sample *s, u64 matches, const char *why)
{
	struct verify_counts *c = v->c;

	c->samples++;
	if (!matches) {
		c->lost++;
		log_warn("sample %" PRIu64 " (after event %" PRIu64
			 ", thread %u, ip %#" PRIx64 ") is lost: %s",
			 s->number, s->point.event, s->tid, s->point.regs.r[X86_RIP], why);
	} else if (matches == 1) {
		c->exact++;
	} else {
		c->repeated++;
	}
	if (v->each)
		v->each(v->ctx, s, matches);
}

/* A sample inside a call: its event is that call, by the same thread. */
static int count_call(struct verify *v, const struct entry *e, u32 tid, u8 type)
{
	bool ok = e->tid == tid && (type == EV_SYSCALL || type == EV_ENTER ||
				    type == EV_EXEC || type == EV_LEAVE || type == EV_EXIT);
	const struct sample *s;
	int err = trace_reader_sample(v->t->reader, e->number, &s);

	if (!err)
		count(v, s, ok, "its event is not a call of that thread");
	return err;
}

/* ---- one interval ---- */

static int add_pending(struct verify *v, u64 number)
{
	const struct sample *s;
	int err = trace_reader_sample(v->t->reader, number, &s);

	if (!err)
		err = array_reserve(&v->p, &v->cap_p, v->n_p + 1, sizeof(v->p[0]));
	if (err)
		return err;
	v->p[v->n_p++] = (struct pending){.s = *s, .id = -1};
	return 0;
}

static void disarm(struct verify *v, struct pending *p)
{
	if (p->id >= 0) {
		p->way = stops_way(v->th->space->stops, p->id);
		stops_remove(v->th->space->stops, p->id);
	}
	p->id = -1;
	p->over = true;
}

/* @p's condition holds: is it met? What was met before it is over then. */
static int check(struct verify *v, struct pending *p)
{
	int got = target_check(v->t, &p->g, v->th);

	if (got < 0)
		return got;
	if (!got) {
		if (!p->matches && p->near++ < 16)
			target_explain(&p->g, v->th, p->why, sizeof(p->why));
		return 0;
	}
	if (++p->matches == MATCHES)
		disarm(v, p);
	if (p->matches == 1)
		for (struct pending *q = v->p; q < p; q++)
			if (q->id >= 0 && q->matches)
				disarm(v, q);
	return 0;
}

/* Of a thread that does not run here: it can only have been sampled standing. */
static int arm_standing(struct verify *v, struct pending *p)
{
	struct thread *th = world_thread(v->t->now, p->s.tid);
	int err = th ? target_init(&p->g, &p->s.point, th) : -ENOENT;

	if (!err)
		err = target_here(&p->g, th);
	if (err == 1) {
		p->matches = 1;
		return 0;
	}
	snprintf(p->why, sizeof(p->why), "thread %u runs there", v->th->tid);
	return err == -ENOENT ? 0 : err;
}

static int arm(struct verify *v, struct pending *p)
{
	int err;

	p->over = true;
	if (p->s.tid != v->th->tid)
		return arm_standing(v, p);
	err = target_init(&p->g, &p->s.point, v->th);
	if (err == -ENOENT) {
		snprintf(p->why, sizeof(p->why), "no code is mapped there");
		return 0;
	}
	if (!err)
		err = stops_add(v->th->space->stops, &p->g.cond, &p->id);
	if (err)
		return err;
	p->over = false;
	/* The thread may stand there already. */
	return target_near(&p->g, v->th) ? check(v, p) : 0;
}

static int arm_ahead(struct verify *v)
{
	int err = 0;

	while (!err && v->armed < v->n_p) {
		size_t armed = 0, ahead = 0, last = 0;

		for (size_t i = 0; i < v->armed; i++)
			if (v->p[i].matches)
				last = i + 1;
		for (size_t i = 0; i < v->armed; i++) {
			armed += v->p[i].id >= 0;
			ahead += i >= last && v->p[i].id >= 0;
		}
		if (ahead >= AHEAD || armed >= MAX_ARMED)
			break;
		err = arm(v, &v->p[v->armed++]);
	}
	return err;
}

static int look(struct verify *v, u64 conds)
{
	int err = 0;

	for (size_t i = 0; !err && i < v->armed; i++)
		if (v->p[i].id >= 0 && (conds & 1ULL << v->p[i].id))
			err = check(v, &v->p[i]);
	return err;
}

/*
 * The thread has come to the next event's point: is another turn worth it, to
 * meet samples that were not met? Yes as long as each turn meets some; those
 * that were armed in one that met none do not come.
 */
static bool turns(struct verify *v, size_t *met)
{
	size_t now = 0, left = 0, before = *met;
	int err;
	const struct event *ev = session_next(v->t, &err);

	for (size_t i = 0; i < v->n_p; i++)
		now += v->p[i].matches > 0;
	if (!ev || !session_is_point(ev) || now == v->n_p)
		return false;
	*met = now;
	if (!v->t->trial || now > before)
		return true;
	for (size_t i = 0; i < v->armed; i++)
		if (v->p[i].id >= 0 && !v->p[i].matches)
			disarm(v, &v->p[i]);
	for (size_t i = v->armed; i < v->n_p; i++)
		left++;
	return left > 0;
}

static int run_interval(struct verify *v)
{
	struct stops_run_opts o = {0};
	struct timeline *t = v->t;
	struct run_result r;
	u64 end = trace_reader_end(t->reader)->time_ns;
	struct world *there = NULL; /* at the next event's point */
	size_t met = 0;
	int err;

	/* Where a cut recording ends nothing else stops a loop. */
	if (end > t->now->time_ns)
		o.budget_ns = 2 * (end - t->now->time_ns) + NSEC_PER_SEC;
	t->tail = v->p[0].s.tid;
	v->th = session_thread(t);
	if (!v->th)
		return 0;
	err = space_load(v->th, t->opts.force);
	if (!err)
		t->now->tid = v->th->tid;
	while (!err) {
		err = arm_ahead(v);
		if (!err)
			err = session_run(t, &o, &r);
		if (!err && r.end == RUN_ARRIVED && turns(v, &met)) {
			err = there ? 0 : world_fork(t->now, &there);
			t->trial = true;
			session_pass(t);
			continue;
		}
		if (err || r.end != RUN_STOP)
			break;
		if (r.res.kind == STOPPED_COND)
			err = look(v, r.res.conds);
		else if (r.res.kind == STOPPED_TIME && !session_next(t, &err))
			break;
	}
	for (size_t i = 0; i < v->armed; i++)
		if (v->p[i].id >= 0)
			disarm(v, &v->p[i]);
	t->trial = false;
	if (there) {
		ckpt_enter(t, there);
		v->th = NULL;
		err = err == -ENOENT ? 0 : err;
	}
	return err;
}

static void report_interval(struct verify *v)
{
	for (size_t i = 0; i < v->n_p; i++) {
		struct pending *p = &v->p[i];

		if (p->matches)
			v->c->by_way[p->way]++;
		else if (!p->why[0])
			snprintf(p->why, sizeof(p->why), "its registers never came");
		count(v, &p->s, p->matches, p->why);
	}
	v->n_p = v->armed = 0;
}

/* The samples of the event just applied (by @tid), and what runs after it. */
static int interval(struct verify *v, u32 tid, u8 type)
{
	u64 event = v->t->now->event;
	int err = 0;

	for (; !err && v->at < v->n && v->v[v->at].event <= event; v->at++) {
		const struct entry *e = &v->v[v->at];

		if (e->kind == SAMPLE_USER && e->event == event)
			err = add_pending(v, e->number);
		else
			err = count_call(v, e, e->event == event ? tid : 0, type);
	}
	if (!err && v->n_p)
		err = run_interval(v);
	/* An interruption says nothing of what was still to come. */
	if (!err || err == -EILSEQ)
		report_interval(v);
	return err;
}

/* Samples inside events that timeline_open() applied. */
static int before_begin(struct verify *v)
{
	struct trace_cursor *c;
	const struct event *ev;
	int err = trace_cursor_new(v->t->reader, &c);

	if (err)
		return err;
	while (!err && v->at < v->n && v->v[v->at].event <= v->t->now->event) {
		const struct entry *e = &v->v[v->at];

		if (e->kind == SAMPLE_USER && e->event == v->t->now->event)
			break;
		err = trace_cursor_seek(c, e->event ? e->event : 1);
		if (!err)
			err = trace_cursor_next(c, &ev);
		if (err < 0)
			break;
		err = count_call(v, e, err ? ev->tid : 0, err ? ev->type : 0);
		v->at++;
	}
	trace_cursor_free(c);
	return err;
}

static int pass(struct verify *v)
{
	struct timeline *t = v->t;
	const struct event *ev;
	u8 type = EV_EXEC;
	u32 tid = t->now->tid;
	int err = before_begin(v);

	while (err >= 0) {
		err = interval(v, tid, type);
		if (err)
			break;
		ev = session_next(t, &err);
		if (!ev)
			break;
		type = ev->type;
		tid = ev->tid;
		err = session_step_event(t);
		if (err <= 0)
			break;
	}
	return err;
}

int timeline_verify(struct timeline *t, struct verify_counts *c,
		    void (*each)(void *ctx, const struct sample *s, u64 matches), void *ctx)
{
	struct verify v = {.t = t, .c = c, .each = each, .ctx = ctx};
	int err;

	*c = (struct verify_counts){0};
	err = load_entries(&v);
	if (!err)
		err = pass(&v);
	pos_now_start(t);
	c->events = t->now->event;
	c->divergences = err == -EILSEQ;
	/* What could not be reached any more is lost, and said once. */
	if (v.v && err == -EILSEQ && v.at < v.n) {
		log_warn("%zu samples lie after the divergence", v.n - v.at);
		c->samples += v.n - v.at;
		c->lost += v.n - v.at;
	}
	free(v.p);
	free(v.v);
	return err;
}
