/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rcontinue.c - continue backwards: from a checkpoint forwards to the present,
 * counting what would have stopped; then to the last of it.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "replay/replay.h"

enum hit_kind {
	HIT_NONE,
	HIT_START, /* where an event put the thread */
	HIT_RUN,   /* in the interval: brk.last of each */
	HIT_EVENT, /* the event wrote what is watched, or is a signal */
};

struct hit {
	enum hit_kind kind;
	u64 event; /* the interval after it */
	u32 base;  /* checkpoint that brk.last counts from */
	int id;
	int sig;
	u32 tid;
};

struct scan {
	struct timeline *t;
	u32 pid;
	struct pos to; /* canonical or arrived: where the scan ends */
	struct hit hit;
};

static bool concerns(const struct brk *b, const struct thread *th, u32 pid)
{
	return b->pid == th->pid && (!pid || pid == b->pid);
}

static void note(struct scan *s, enum hit_kind kind, int id)
{
	s->hit = (struct hit){.kind = kind,
			      .event = s->t->now->event,
			      .base = s->t->pos.base,
			      .id = id,
			      .tid = s->t->now->tid};
}

static void look_start(struct scan *s, struct thread *th)
{
	struct timeline *t = s->t;

	if (!th->fresh || t->pos.base)
		return;
	t->now->tid = th->tid;
	for (size_t i = 0; i < t->n_brks; i++) {
		struct brk *b = &t->brks[i];

		if (!b->is_watch && concerns(b, th, s->pid) &&
		    b->addr == th->regs.r[X86_RIP] && (!b->cond || b->cond(b->ctx, t)))
			note(s, HIT_START, b->id);
	}
}

/* Conditions that need no look are counted by the stops alone. */
static int arm(struct scan *s, struct thread *th)
{
	struct timeline *t = s->t;
	int err = space_load(th, t->opts.force);

	for (size_t i = 0; !err && i < t->n_brks; i++) {
		struct brk *b = &t->brks[i];
		struct stop_cond c = {.ip = b->addr, .count_only = !b->cond};

		b->seen = b->last = 0;
		b->armed = -1;
		if (!concerns(b, th, s->pid))
			continue;
		b->space = th->space;
		if (b->is_watch)
			err = stops_watch(th->space->stops, b->kind, b->addr, b->len,
					  &b->armed);
		else
			err = stops_add(th->space->stops, &c, &b->armed);
		if (err)
			b->armed = -1;
	}
	return err;
}

static void see(void *ctx, struct thread *th, const struct stop_result *res)
{
	struct scan *s = ctx;
	struct timeline *t = s->t;

	for (size_t i = 0; i < t->n_brks; i++) {
		struct brk *b = &t->brks[i];

		if (b->armed < 0)
			continue;
		if (b->is_watch) {
			if (res->kind == STOPPED_WATCH && res->watch == b->armed)
				b->last = ++b->seen;
		} else if (b->cond && (res->conds >> b->armed & 1)) {
			b->seen++;
			t->now->tid = th->tid;
			if (b->cond(b->ctx, t))
				b->last = b->seen;
		}
	}
}

/* What was counted in the interval; @at_end: the present is where it ends. */
static void collect(struct scan *s, struct thread *th, bool at_end)
{
	struct timeline *t = s->t;
	bool any = false;

	for (size_t i = 0; i < t->n_brks; i++) {
		struct brk *b = &t->brks[i];

		if (b->armed < 0 || b->is_watch)
			continue;
		if (!b->cond)
			b->last = stops_count(th->space->stops, b->armed);
		/* The present itself is not before the present. */
		if (at_end && b->addr == th->regs.r[X86_RIP] && b->last &&
		    (!b->cond || b->last == b->seen))
			b->last--;
	}
	for (size_t i = 0; i < t->n_brks; i++)
		any |= t->brks[i].armed >= 0 && t->brks[i].last;
	for (size_t i = 0; any && i < t->n_brks; i++)
		t->brks[i].kept = t->brks[i].armed >= 0 ? t->brks[i].last : 0;
	breaks_disarm(t);
	if (any)
		note(s, HIT_RUN, 0);
}

/* Run through one interval, to the end of the scan if that lies in it. */
static int through(struct scan *s)
{
	struct timeline *t = s->t;
	struct thread *th = session_thread(t);
	bool ends = t->now->event == s->to.event, entry;
	struct stop_cond end = {0};
	struct stops_run_opts o = {0};
	struct run_result r = {0};
	const struct event *ev;
	int err, id = -1;

	ev = session_next(t, &err);
	if (!ev || !th || !event_runs(ev))
		return err;
	if (ends && !s->to.arrived && !s->to.n_hops)
		return 0;
	look_start(s, th);
	err = arm(s, th);
	if (!err && ends && !s->to.arrived) {
		end.ip = s->to.hops[0].ip;
		end.pass = s->to.hops[0].n;
		err = stops_add(th->space->stops, &end, &id);
	}
	while (!err) {
		err = session_run(t, &o, &r);
		if (err || r.end != RUN_STOP)
			break;
		see(s, th, &r.res);
		if (id >= 0 && (r.res.conds & 1ULL << id))
			break;
	}
	/* The end lies inside a rep instruction: its iterations write, too. */
	if (!err && id >= 0 && r.end == RUN_STOP && s->to.n_hops == 2)
		err = rep_run_seeing(t, th, s->to.hops[1].len, s->to.hops[1].n, see, s);
	entry = ev->type == EV_SYSCALL || ev->type == EV_ENTER;
	if (!err)
		collect(s, th, ends && !(s->to.arrived && entry));
	if (id >= 0)
		stops_remove(th->space->stops, id);
	breaks_disarm(t);
	if (!err && id >= 0 && r.end != RUN_STOP)
		err = -EIO;
	return err;
}

/* The present stands at the place of the next event: apply it. */
static int over_event(struct scan *s)
{
	struct timeline *t = s->t;
	int err;
	const struct event *ev = session_next(t, &err);
	struct brk *b;

	if (!ev)
		return err ? err : -EIO;
	b = breaks_written(t, ev, s->pid);
	t->now->tid = ev->tid;
	if (ev->type == EV_SIGNAL && (!s->pid || s->pid == ev->pid)) {
		note(s, HIT_EVENT, 0);
		s->hit.sig = ev->siginfo ? ev->siginfo->si_signo : 0;
	} else if (b) {
		note(s, HIT_EVENT, b->id);
	}
	err = session_apply(t);
	if (!err)
		pos_now_start(t);
	return err;
}

static int scan(struct scan *s)
{
	int err = 0;

	while (!err) {
		if (s->t->opts.interrupt && *s->t->opts.interrupt)
			return -EINTR;
		err = through(s);
		if (err || s->t->now->event == s->to.event)
			break;
		err = over_event(s);
	}
	return err;
}

/* ---- to the hit ---- */

static int goto_run_hit(struct scan *s, struct brk **out)
{
	struct timeline *t = s->t;
	struct pos base = {.event = s->hit.event, .base = s->hit.base};
	struct stops_run_opts o = {0};
	struct run_result r;
	struct thread *th;
	struct hop h = {0};
	size_t todo = 0;
	int err = pos_base(t, &base);

	th = err ? NULL : session_thread(t);
	if (!th)
		return err ? err : -EIO;
	err = space_load(th, t->opts.force);
	for (size_t i = 0; !err && i < t->n_brks; i++) {
		struct brk *b = &t->brks[i];
		struct stop_cond c = {.ip = b->addr, .pass = b->kept};

		b->seen = 0;
		if (!b->kept || !concerns(b, th, s->pid))
			continue;
		b->space = th->space;
		err = b->is_watch ? stops_watch(th->space->stops, b->kind, b->addr, b->len,
						&b->armed)
				  : stops_add(th->space->stops, &c, &b->armed);
		todo++;
	}
	while (!err && todo) {
		err = session_run(t, &o, &r);
		if (!err && r.end != RUN_STOP)
			err = -EIO;
		for (size_t i = 0; !err && i < t->n_brks; i++) {
			struct brk *b = &t->brks[i];

			if (b->armed < 0 || !b->kept)
				continue;
			if (b->is_watch ? r.res.kind != STOPPED_WATCH ||
						  r.res.watch != b->armed ||
						  ++b->seen != b->kept
					: !(r.res.conds >> b->armed & 1))
				continue;
			*out = b;
			h = (struct hop){.kind = b->is_watch ? HOP_WATCH : HOP_PASS,
					 .watch = b->is_watch ? b->kind : 0,
					 .len = b->is_watch ? b->len : 0,
					 .ip = b->addr,
					 .n = b->kept};
			b->kept = 0;
			todo--;
		}
	}
	breaks_disarm(t);
	return err ? err : pos_now_hop(t, &h);
}

static struct brk *find(struct timeline *t, int id)
{
	for (size_t i = 0; i < t->n_brks; i++)
		if (t->brks[i].id == id)
			return &t->brks[i];
	return NULL;
}

static int goto_hit(struct scan *s, struct travel_result *r)
{
	struct timeline *t = s->t;
	struct pos p = {.event = s->hit.event, .base = s->hit.base};
	struct brk *b = find(t, s->hit.id);
	int err;

	switch (s->hit.kind) {
	case HIT_START:
		err = pos_goto(t, &p);
		break;
	case HIT_RUN:
		err = goto_run_hit(s, &b);
		break;
	default:
		p.arrived = true;
		err = pos_goto(t, &p);
		t->pos.arrived = t->now->arrived;
	}
	if (err)
		return err;
	if (s->hit.kind != HIT_RUN && world_thread(t->now, s->hit.tid))
		t->now->tid = t->pos.tid = s->hit.tid;
	if (b) {
		r->id = b->id;
		r->addr = b->addr;
		r->end = b->is_watch ? TRAVEL_WATCH : TRAVEL_BREAK;
		/* Before the instruction that makes the access. */
		if (b->is_watch)
			err = back_step(t, t->now->tid);
	} else {
		r->end = TRAVEL_SIGNAL;
		r->sig = s->hit.sig;
		t->told_signal = s->hit.event + 1;
	}
	return err;
}

static bool watches(const struct timeline *t)
{
	for (size_t i = 0; i < t->n_brks; i++)
		if (t->brks[i].is_watch || t->brks[i].cond)
			return true;
	return false;
}

/* Checkpoints between event @from, where the present is to be, and @to: ever
 * denser towards that. */
static int spread(struct timeline *t, u64 from, u64 to)
{
	int err = 0;

	for (u64 n = (to - from) / 2; !err && n; n /= 2) {
		err = seek_event(t, to - n);
		if (!err)
			err = ckpt_start(t);
	}
	return err;
}

/* The next scan begins at the checkpoint before @to; puts the present there. */
static int goto_before(struct timeline *t, struct pos *to)
{
	struct ckpt *c = to->base ? ckpt_find(t, to->base) : NULL;
	u64 event = to->event;
	int err;

	/* @to is a checkpoint itself: by the way that led to it. */
	while (c && !to->n_hops && !to->arrived) {
		err = ckpt_resolve(t, c);
		c = ckpt_find(t, to->base);
		if (err || !c)
			return err ? err : -EIO;
		*to = c->at;
		c = to->base ? ckpt_find(t, to->base) : NULL;
	}
	if (to->arrived)
		to->n_hops = 0;
	err = to->arrived ? 0 : pos_canon(t, to, to);
	if (err)
		return err;
	if (to->base) {
		struct pos base = {.event = to->event, .base = to->base};

		return pos_base(t, &base);
	}
	if (!to->n_hops && !to->arrived) {
		if (event <= t->begin)
			return -ENODATA;
		event--;
	}
	c = ckpt_before(t, event);
	if (c && watches(t) && event - c->event > 4) {
		err = spread(t, c->event, event);
		c = ckpt_before(t, event);
	}
	if (err)
		return err;
	return c ? ckpt_restore(t, c) : -ENODATA;
}

static int end_here(struct timeline *t, struct travel_result *r)
{
	struct thread *th = world_thread(t->now, t->now->tid);

	r->tid = t->now->tid;
	r->pid = th ? th->pid : 0;
	return 0;
}

/* At the entry of a call: to its instruction, if nobody waits for that. */
static int before_call(struct timeline *t)
{
	int err;
	const struct event *ev = session_next(t, &err);
	u64 ip;

	if (!ev || (ev->type != EV_SYSCALL && ev->type != EV_ENTER))
		return err;
	ip = ev->regs.r[X86_RIP] - 2;
	for (size_t i = 0; i < t->n_brks; i++)
		if (!t->brks[i].is_watch && t->brks[i].addr == ip)
			return 0;
	return back_to_insn(t, ev->number, ip);
}

/*
 * Every hit of a watchpoint stops the task: look at the last instructions
 * first, then at ever longer stretches before. The window before the present
 * leaves checkpoints spaced like that.
 */
static int near_first(struct timeline *t, struct pos *to)
{
	struct hop steps = {.kind = HOP_STEP};
	struct pos p = *to;
	int err;

	if (watches(t) && p.arrived) {
		err = before_call(t);
		if (err)
			return err;
		p = *to = t->pos;
	}
	if (!watches(t) || p.arrived || !p.n_hops || p.hops[p.n_hops - 1].kind == HOP_REP)
		return 0;
	err = pos_canon(t, &p, &p);
	if (err || p.n_hops != 1)
		return err;
	err = window_build(t, &p);
	if (!err)
		err = window_goto(t, 0);
	if (!err)
		err = ckpt_inside(t, true);
	if (err)
		return err;
	steps.n = t->win.n - 1;
	p.base = t->pos.base;
	p.n_hops = 0;
	*to = p;
	window_drop(t);
	return pos_hop(to, &steps);
}

static int search(struct timeline *t, u32 pid, struct travel_result *r)
{
	struct scan s = {.t = t, .pid = pid, .to = t->pos};
	int err = near_first(t, &s.to);

	if (err)
		return err;
	for (;;) {
		struct pos from;

		err = goto_before(t, &s.to);
		if (err == -ENODATA) {
			r->end = TRAVEL_BEGIN;
			return seek_event(t, t->begin);
		}
		if (err)
			return err;
		from = t->pos;
		s.hit = (struct hit){0};
		err = scan(&s);
		if (err)
			return err;
		if (s.hit.kind)
			return goto_hit(&s, r);
		s.to = from;
	}
}

int back_continue(struct timeline *t, u32 pid, struct travel_result *r)
{
	struct pos was = t->pos;
	int err, err2;

	window_drop(t);
	t->no_ckpts = true;
	err = search(t, pid, r);
	breaks_disarm(t);
	if (err) {
		err2 = pos_goto(t, &was);
		if (err == -EINTR && !err2)
			r->end = TRAVEL_INTERRUPTED;
		err = err2 ? err2 : err == -EINTR ? 0 : err;
	}
	t->no_ckpts = false;
	ckpt_thin(t);
	return err ? err : end_here(t, r);
}
