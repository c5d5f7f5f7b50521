/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * backward.c - one instruction back; across events.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "replay/replay.h"

/* Which event last did something to @tid at or before number @upto. */
struct trail {
	u64 number;
	u8 type, where;
	u64 ip;	   /* regs.rip */
	u32 tid;   /* the event's thread */
	bool born; /* it brought @tid into being */
};

static bool bears(const struct event *ev, u32 tid)
{
	for (u32 i = 0; i < ev->n_effects; i++)
		if (ev->effects[i].kind == EF_FORK && ev->effects[i].fork.tid == tid)
			return true;
	return false;
}

static bool is_of(const struct event *ev, u32 tid, bool enters)
{
	if (enters)
		return ev->tid == tid && (ev->type == EV_ENTER || ev->type == EV_SYSCALL);
	return ev->tid == tid || bears(ev, tid);
}

/* @enters: only the entry of a call. */
static int find_trail(struct timeline *t, u32 tid, u64 upto, bool enters, struct trail *out)
{
	const u64 chunk = 256;
	const struct event *ev;
	struct trace_cursor *c;
	int err = trace_cursor_new(t->reader, &c);

	if (err)
		return err;
	*out = (struct trail){0};
	while (!out->number && upto >= t->begin) {
		u64 from = upto > chunk ? upto - chunk + 1 : 1;

		err = trace_cursor_seek(c, from);
		while (!err && from <= upto && (err = trace_cursor_next(c, &ev)) > 0) {
			err = 0;
			if (is_of(ev, tid, enters))
				*out = (struct trail){ev->number, ev->type,
						      ev->where,  ev->regs.r[X86_RIP],
						      ev->tid,	  ev->tid != tid};
			from++;
		}
		if (err < 0 || upto <= chunk)
			break;
		upto -= chunk;
	}
	trace_cursor_free(c);
	return err < 0 ? err : out->number >= t->begin ? 0 : -ENODATA;
}

static struct pos at_end_of(struct timeline *t, u64 event)
{
	return (struct pos){
		.event = event, .base = ckpt_last_inside(t, event), .arrived = true};
}

/* Stand at the place of event @number, before it is applied. */
static int goto_before(struct timeline *t, u64 number, u32 tid)
{
	struct pos p = at_end_of(t, number - 1);
	int err = pos_goto(t, &p);

	if (err)
		return err;
	t->pos.arrived = t->now->arrived;
	if (world_thread(t->now, tid))
		t->now->tid = t->pos.tid = tid;
	return 0;
}

/* Stand before the instruction at @ip that ran into event @number. */
int back_to_insn(struct timeline *t, u64 number, u64 ip)
{
	struct stop_cond c = {.ip = ip, .count_only = true};
	struct pos p = at_end_of(t, number - 1), base = p;
	struct thread *th;
	struct hop h = {.kind = HOP_PASS, .ip = ip};
	int err, id;

	base.arrived = false;
	err = pos_base(t, &base);
	th = err ? NULL : session_thread(t);
	if (!th)
		return err ? err : -EIO;
	err = space_load(th, t->opts.force);
	if (!err)
		err = stops_add(th->space->stops, &c, &id);
	if (err)
		return err;
	err = pos_run(t, &p);
	h.n = stops_count(th->space->stops, id);
	stops_remove(th->space->stops, id);
	if (!err)
		err = pos_goto(t, &base);
	if (!err && h.n)
		err = pos_advance(t, &h);
	th = err ? NULL : session_thread(t);
	if (th && th->regs.r[X86_RIP] != ip) {
		log_error("event %lu: its instruction at %#lx is not met", number, ip);
		return -EIO;
	}
	if (th)
		t->now->tid = t->pos.tid = th->tid;
	return err;
}

static int window_back(struct timeline *t, const struct pos *p)
{
	struct pos at;
	int err = pos_canon(t, p, &at);

	if (err)
		return err;
	/* Between two iterations of a rep instruction. */
	if (at.n_hops && at.hops[at.n_hops - 1].kind == HOP_REP) {
		if (!--at.hops[at.n_hops - 1].n)
			at.n_hops--;
		at.regs = (struct regs){0};
		return pos_goto(t, &at);
	}
	/* Nothing was run since its base. */
	if (!at.n_hops) {
		struct ckpt *c = ckpt_find(t, at.base);

		if (!c)
			return -EAGAIN; /* the start of the interval */
		err = ckpt_resolve(t, c);
		c = ckpt_find(t, at.base);
		if (err || !c)
			return err ? err : -EIO;
		at = c->at;
		return window_back(t, &at);
	}
	err = window_build(t, &at);
	return err ? err : window_goto(t, t->win.n - 2);
}

/* @tid stands as event @e left it. 1: nothing differs before it: go on. */
static int across(struct timeline *t, const struct trail *e, u32 tid)
{
	struct trail enter;
	int err;

	if (e->born || e->type == EV_START)
		return -ENODATA;
	switch (e->type) {
	case EV_SYSCALL:
	case EV_ENTER:
		if (e->number == t->entry_event)
			return goto_before(t, e->number, tid);
		return back_to_insn(t, e->number, e->ip - 2);
	case EV_EXEC:
	case EV_LEAVE:
		err = find_trail(t, tid, e->number - 1, true, &enter);
		return err ? err : back_to_insn(t, enter.number, enter.ip - 2);
	case EV_SCHED:
		err = goto_before(t, e->number, tid);
		return err ? err : 1;
	default:
		return goto_before(t, e->number, tid);
	}
}

/* One step from where the present stands; 1: nothing changed, go on. */
static int back_once(struct timeline *t, u32 tid)
{
	struct thread *th = session_thread(t);
	struct pos p = t->pos;
	bool runs = th && th->tid == tid && (p.n_hops || p.base || p.arrived);
	const struct event *ev;
	struct trail e;
	ssize_t i;
	int err = 0;

	i = runs ? window_index(t) : -1;
	if (i > 0)
		return window_goto(t, i - 1);
	ev = session_next(t, &err);
	if (err)
		return err;
	if (runs && p.arrived && (ev->type == EV_SYSCALL || ev->type == EV_ENTER))
		return back_to_insn(t, ev->number, ev->regs.r[X86_RIP] - 2);
	if (runs) {
		err = window_back(t, &p);
		if (err != -EAGAIN)
			return err;
	}
	err = find_trail(t, tid, t->now->event, false, &e);
	if (err || e.number <= t->begin)
		return err ? err : -ENODATA;
	return across(t, &e, tid);
}

int back_step(struct timeline *t, u32 tid)
{
	struct pos was = t->pos;
	int err, err2;

	t->no_ckpts = true;
	do
		err = back_once(t, tid);
	while (err == 1);
	if (err) {
		/* The start: the present stays. An error: back to where it was. */
		err2 = pos_goto(t, &was);
		if (err2)
			err = err2;
	}
	t->no_ckpts = false;
	ckpt_thin(t);
	return err;
}
