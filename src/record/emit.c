/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * emit.c - append events. What was sampled before an event is drained first,
 * so that its number says after which event each sample lies.
 */
#include <errno.h>
#include <string.h>

#include "record/internal.h"

void emit(struct session *s, struct task *t, struct event *ev)
{
	int err;

	if (s->over)
		return;
	samples_drain(s);
	t->spins &= ev->type == EV_SCHED;
	ev->tid = t->tid;
	ev->pid = t->pid;
	ev->time_ns = now_ns() - s->start_ns;
	err = s->fx.data.err;
	if (!err)
		err = trace_writer_event(s->w, ev);
	effects_reset(&s->fx, t->tid);
	if (err == -ENOSPC)
		session_end(s, "the disk is full");
	else if (err)
		session_end(s, "cannot write the trace: %s", strerror(-err));
	sched_event_made(s, t);
}

void emit_simple(struct session *s, struct task *t, u8 type)
{
	struct event ev = {.type = type, .regs = t->regs};

	emit(s, t, &ev);
}

void emit_enter(struct session *s, struct task *t)
{
	struct event ev = {
		.type = EV_ENTER,
		.regs = t->call.regs,
		.what = t->call.info ? t->call.info->name : "",
	};

	effects_seal(&s->fx, &ev);
	emit(s, t, &ev);
	t->call.split = true;
	t->call.event = trace_writer_last(s->w);
	samples_flush_call(s, t, t->call.event);
}
