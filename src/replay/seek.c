/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * seek.c - the one primitive: to an event, and from there to a point.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "replay/replay.h"

static bool lays(const struct timeline *t)
{
	return !t->no_ckpts;
}

int travel_event(struct timeline *t)
{
	struct stops_run_opts o = {.budget_ns = lays(t) ? CKPT_NS : 0};
	struct run_result r;
	int err;

	if (t->opts.interrupt && *t->opts.interrupt)
		return -EINTR;
	if (!session_next(t, &err))
		return err;
	for (;;) {
		err = session_run(t, &o, &r);
		if (err || r.end == RUN_OVER)
			return err;
		if (r.end == RUN_ARRIVED)
			break;
		if (r.res.kind == STOPPED_TIME && lays(t))
			err = ckpt_inside(t, false);
		if (err)
			return err;
	}
	err = session_apply(t);
	if (err)
		return err;
	pos_now_start(t);
	if (lays(t))
		err = ckpt_lay(t);
	return err ? err : 1;
}

int seek_event(struct timeline *t, u64 number)
{
	struct ckpt *c = ckpt_before(t, number);
	bool ahead = t->now->event < number ||
		     (t->now->event == number && !t->strayed && pos_is_start(&t->pos));
	int err = 0;

	if (!ahead && !c)
		return -ERANGE;
	if (!ahead || (c && c->cost > t->now->cost))
		err = ckpt_restore(t, c);
	while (!err && t->now->event < number) {
		err = travel_event(t);
		if (!err)
			err = -ERANGE;
		if (err > 0)
			err = 0;
	}
	return err;
}

/* ---- points ---- */

struct seek {
	struct timeline *t;
	struct target g;
	struct thread *th;
	int cond, counter;
	u64 counted; /* of counter, at the base of t->pos */
};

static u64 passes(struct seek *k)
{
	return stops_count(k->th->space->stops, k->counter) - k->counted;
}

static int found(struct seek *k)
{
	struct hop pass = {.kind = HOP_PASS, .ip = k->g.cond.ip};
	struct hop rep = {.kind = HOP_REP,
			  .ip = k->g.cond.ip,
			  .len = k->g.rep_len,
			  .n = k->t->rep_done};
	int err;

	pass.n = passes(k);
	err = pos_now_hop(k->t, &pass);
	return err ? err : pos_now_hop(k->t, &rep);
}

/*
 * The run is long: a checkpoint, at the next pass over the same place if one
 * comes soon, because that has a name.
 */
static int lay_inside(struct seek *k)
{
	struct hop pass = {.kind = HOP_PASS, .ip = k->g.cond.ip};
	struct timeline *t = k->t;
	int err;

	pass.n = passes(k);
	/* Only just passed, and standing there: named. Else by the clock. */
	if (pass.n && k->th->regs.r[X86_RIP] == pass.ip) {
		err = pos_hop(&t->pos, &pass);
		if (!err)
			err = ckpt_inside(t, true);
	} else {
		err = ckpt_inside(t, false);
	}
	k->counted += pass.n;
	return err;
}

static int seek_run(struct seek *k)
{
	struct timeline *t = k->t;
	struct stop_cond next = {.ip = k->g.cond.ip};
	struct stops *stops = k->th->space->stops;
	int err, here = -1;

	for (;;) {
		struct stops_run_opts o = {.budget_ns = lays(t) ? CKPT_NS : 0};
		struct run_result r;

		if (here >= 0)
			o.budget_ns = CKPT_NS / 20;
		err = session_run(t, &o, &r);
		if (err)
			break;
		if (r.end != RUN_STOP) {
			err = target_here(&k->g, k->th) == 1 ? 0 : -ENOENT;
			t->pos.arrived = t->now->arrived;
			return err;
		}
		if (r.res.kind == STOPPED_COND && (r.res.conds & 1ULL << k->cond)) {
			err = target_check(t, &k->g, k->th);
			if (err)
				break;
		}
		if (!lays(t))
			continue;
		if (r.res.kind == STOPPED_TIME && here < 0 && passes(k)) {
			err = stops_add(stops, &next, &here);
		} else if (r.res.kind == STOPPED_TIME || here >= 0) {
			if (here >= 0)
				stops_remove(stops, here);
			here = -1;
			err = lay_inside(k);
		}
		if (err)
			break;
	}
	if (here >= 0)
		stops_remove(stops, here);
	return err == 1 ? found(k) : err;
}

/* Another thread runs here: @p's can only stand there already. */
static int seek_standing(struct timeline *t, const struct point *p)
{
	struct thread *th = world_thread(t->now, p->tid);
	struct target g;
	int err = th ? target_init(&g, p, th) : -ENOENT;

	if (!err)
		err = target_here(&g, th);
	if (err <= 0)
		return err ? err : -ENOENT;
	t->now->tid = th->tid;
	return pos_now_hop(t, &(struct hop){.kind = HOP_STEP});
}

int seek_from_here(struct timeline *t, const struct point *p)
{
	struct seek k = {.t = t};
	struct stop_cond counter = {.ip = p->regs.r[X86_RIP], .count_only = true};
	int err;

	t->tail = p->tid;
	k.th = session_thread(t);
	if (!k.th || k.th->tid != p->tid)
		return seek_standing(t, p);
	err = space_load(k.th, t->opts.force);
	if (!err)
		err = target_init(&k.g, p, k.th);
	if (err)
		return err;
	t->now->tid = k.th->tid;
	if (target_near(&k.g, k.th)) {
		struct hop rep = {.kind = HOP_REP, .ip = counter.ip, .len = k.g.rep_len};

		err = target_check(t, &k.g, k.th);
		rep.n = t->rep_done;
		if (err)
			return err < 0 ? err : pos_now_hop(t, &rep);
	}
	err = stops_add(k.th->space->stops, &k.g.cond, &k.cond);
	if (err)
		return err;
	err = stops_add(k.th->space->stops, &counter, &k.counter);
	if (!err) {
		err = seek_run(&k);
		stops_remove(k.th->space->stops, k.counter);
	}
	stops_remove(k.th->space->stops, k.cond);
	return err;
}

int timeline_seek_event(struct timeline *t, u64 number)
{
	if (t->diversion)
		return -EPERM;
	if (number > trace_reader_end(t->reader)->events)
		return -ERANGE;
	window_drop(t);
	return seek_event(t, MAX(number, t->begin));
}

/* @p was not met before the next event's point: perhaps it is in the next turn
 * of a loop. */
static int seek_late(struct timeline *t, const struct point *p)
{
	int err = seek_event(t, p->event);

	t->trial = true;
	if (!err)
		err = seek_from_here(t, p);
	t->trial = false;
	if (err)
		session_forget_late(t, p->event + 1);
	return err;
}

int timeline_seek(struct timeline *t, const struct point *p)
{
	struct pos was = t->pos;
	int err, err2;

	if (t->diversion)
		return -EPERM;
	if (p->event > trace_reader_end(t->reader)->events || p->event < t->begin)
		return -ERANGE;
	window_drop(t);
	t->entry_event = 0;
	err = seek_event(t, p->event);
	if (!err)
		err = seek_from_here(t, p);
	if (err == -ENOENT && session_make_late(t, p->event + 1))
		err = seek_late(t, p);
	if (err == -ENOENT) {
		err2 = pos_goto(t, &was);
		if (err2)
			return err2;
	}
	return err;
}

/* Inside a call: at its entry stop, where the call's event waits. */
static int seek_call(struct timeline *t, const struct sample *s)
{
	struct stops_run_opts o = {0};
	struct run_result r;
	u64 event = s->point.event;
	int err;

	if (event > trace_reader_end(t->reader)->events)
		return -ERANGE;
	err = seek_event(t, event > t->begin ? event - 1 : t->begin);
	if (err || event <= t->begin)
		return err;
	t->entry_event = event;
	do
		err = session_run(t, &o, &r);
	while (!err && r.end == RUN_STOP);
	t->pos.arrived = t->now->arrived;
	if (world_thread(t->now, s->tid))
		t->now->tid = s->tid;
	return err ? err : pos_now_hop(t, &(struct hop){.kind = HOP_STEP});
}

/*
 * A sample knows when it was taken: in a long interval start from a checkpoint
 * some way before that. -ENOENT: it is not after it.
 */
static int seek_hinted(struct timeline *t, const struct sample *s)
{
	struct pos base = {.event = s->point.event};
	const struct event *ev;
	struct trace_cursor *c;
	u64 since = 0;
	int err;

	if (!ckpt_last_inside(t, base.event))
		return -ENOENT;
	err = trace_cursor_new(t->reader, &c);
	if (err)
		return err;
	err = trace_cursor_seek(c, base.event);
	if (!err && trace_cursor_next(c, &ev) > 0 && s->time_ns > ev->time_ns)
		since = s->time_ns - ev->time_ns;
	trace_cursor_free(c);
	base.base = ckpt_inside_before(t, base.event, since - since / 16);
	if (err || !base.base || since < CKPT_NS)
		return err ? err : -ENOENT;
	window_drop(t);
	err = pos_base(t, &base);
	return err ? err : seek_from_here(t, &s->point);
}

int timeline_seek_sample(struct timeline *t, u64 number)
{
	const struct sample *s;
	struct sample copy;
	int err;

	if (t->diversion)
		return -EPERM;
	if (!number || number > trace_reader_samples(t->reader))
		return -ERANGE;
	err = trace_reader_sample(t->reader, number, &s);
	if (err)
		return err;
	copy = *s;
	if (copy.kind == SAMPLE_USER) {
		struct pos was = t->pos;

		err = seek_hinted(t, &copy);
		if (err != -ENOENT)
			return err;
		err = timeline_seek(t, &copy.point);
		return err == -ENOENT ? (pos_goto(t, &was) ?: err) : err;
	}
	window_drop(t);
	return seek_call(t, &copy);
}

static int read_space(void *ctx, u64 addr, void *buf, size_t n)
{
	return space_read(ctx, addr, buf, n) ? -EFAULT : 0;
}

int point_of(struct timeline *t, struct thread *th, struct point *out)
{
	*out = (struct point){.event = t->now->event, .tid = th->tid, .regs = th->regs};
	return print_compute(&out->print, &th->regs, NULL, read_space, th->space);
}

int timeline_point(struct timeline *t, struct point *out)
{
	struct thread *th = world_thread(t->now, t->now->tid);

	return th ? point_of(t, th, out) : -ESRCH;
}
