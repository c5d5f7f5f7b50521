/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gdb-resume.c - travel for gdb: which ends are told, which are passed over.
 */
#include <errno.h>
#include <sys/wait.h>

#include "base/log.h"
#include "replay/gdb-host.h"

/* ---- the end of the served process ---- */

#define SCAN_EVENTS 4096

/* The last EV_EXIT of the process among [from, to); 0: none. */
static int last_exit_in(struct gdb_host *h, u64 from, u64 to, u64 *found)
{
	struct trace_cursor *c;
	const struct event *ev;
	int r = trace_cursor_new(h->r, &c);

	if (r < 0)
		return r;
	r = trace_cursor_seek(c, from);
	while (!r && trace_cursor_next(c, &ev) == 1 && ev->number < to) {
		if (ev->type != EV_EXIT || ev->pid != h->pid)
			continue;
		*found = ev->number;
		h->end_status = ev->status;
	}
	trace_cursor_free(c);
	return r;
}

/* The event after which the last thread of the process still stands. */
static u64 end_event(struct gdb_host *h)
{
	u64 to = trace_reader_end(h->r)->events + 1, found = 0;

	while (!h->end_event && to > 1) {
		u64 from = to > SCAN_EVENTS ? to - SCAN_EVENTS : 1;

		if (last_exit_in(h, from, to, &found) < 0)
			break;
		if (found)
			h->end_event = found - 1;
		to = from;
	}
	if (!h->end_event) { /* cut short: nobody ended */
		h->end_event = trace_reader_end(h->r)->events;
		h->end_status = trace_reader_end(h->r)->status;
	}
	return h->end_event;
}

/* A stop needs a thread to stand in: if none is left, where one last was. */
static int settle(struct gdb_host *h, struct gdb_stop *stop, u64 event)
{
	struct gdb_thread th;
	int r;

	host_present(h, &th);
	if (!th.tid) {
		r = timeline_seek_event(h->t, event);
		if (r < 0)
			return r;
		host_present(h, &th);
		if (!th.tid)
			return -ESRCH;
	}
	stop->pid = th.pid;
	stop->tid = th.tid;
	return 0;
}

static int stop_at_end(struct gdb_host *h, struct gdb_stop *stop)
{
	u64 event = end_event(h);

	stop->kind = GDB_STOP_END;
	if (!h->told_end) {
		h->told_end = true;
		return settle(h, stop, event);
	}
	h->told_end = false;
	stop->pid = h->pid;
	if (WIFSIGNALED(h->end_status)) {
		stop->kind = GDB_STOP_KILLED;
		stop->sig = WTERMSIG(h->end_status);
	} else {
		stop->kind = GDB_STOP_EXITED;
		stop->status = WEXITSTATUS(h->end_status);
	}
	return settle(h, &(struct gdb_stop){0}, event);
}

/* ---- stops ---- */

static void stop_at_point(struct gdb_host *h, const struct travel_result *tr,
			  struct gdb_stop *stop)
{
	const struct host_point *hp = host_point_of(h, tr->id);

	if (tr->end == TRAVEL_WATCH) {
		stop->kind = GDB_STOP_WATCH;
		stop->addr = tr->addr;
		stop->watch = hp ? hp->p.type : GDB_POINT_WRITE;
		return;
	}
	stop->kind = GDB_STOP_BREAK;
	stop->hw = hp && hp->p.type == GDB_POINT_HW;
}

/* The program of a diversion ended, or did what none can: back. */
static int diversion_over(struct gdb_host *h, struct gdb_stop *stop)
{
	int r = host_rejoin(h);

	stop->kind = GDB_STOP_STEP;
	return r < 0 ? r : settle(h, stop, end_event(h));
}

static int stop_from(struct gdb_host *h, const struct travel_result *tr,
		     struct gdb_stop *stop)
{
	static const enum gdb_stop_kind kinds[] = {
		[TRAVEL_STEP] = GDB_STOP_STEP,
		[TRAVEL_SIGNAL] = GDB_STOP_SIGNAL,
		[TRAVEL_BEGIN] = GDB_STOP_BEGIN,
		[TRAVEL_INTERRUPTED] = GDB_STOP_INTERRUPTED,
	};

	*stop = (struct gdb_stop){.pid = tr->pid, .tid = tr->tid};
	if (timeline_diverted(h->t) &&
	    (tr->end == TRAVEL_END ||
	     (tr->end == TRAVEL_SIGNAL && (tr->sig < 1 || tr->sig > 64))))
		return diversion_over(h, stop);
	if (tr->end == TRAVEL_END)
		return stop_at_end(h, stop);
	h->told_end = false;
	if (tr->end == TRAVEL_BREAK || tr->end == TRAVEL_WATCH) {
		stop_at_point(h, tr, stop);
	} else {
		stop->kind = kinds[tr->end];
		stop->sig = tr->sig;
	}
	return settle(h, stop, tr->end == TRAVEL_BEGIN ? h->begin : end_event(h));
}

/* Ends that the user does not want to see: run on. */
static int passes_over(struct gdb_host *h, const struct gdb_resume *r,
		       const struct travel_result *tr)
{
	const struct host_point *hp;
	int was;

	if (tr->end == TRAVEL_SIGNAL && tr->sig >= 1 && tr->sig <= 64)
		return r->pass_signals >> (tr->sig - 1) & 1;
	if (tr->end != TRAVEL_WATCH)
		return 0;
	hp = host_point_of(h, tr->id);
	if (!hp || hp->p.type != GDB_POINT_READ)
		return 0;
	was = host_was_read(h, hp, r->backwards);
	return was < 0 ? was : !was;
}

static bool in_range(struct gdb_host *h, const struct gdb_resume *r)
{
	struct regs regs;

	return r->range_end && !timeline_regs(h->t, r->tid, &regs) &&
	       regs.r[X86_RIP] >= r->range_start && regs.r[X86_RIP] < r->range_end;
}

/* A called function may begin at a breakpoint, which nothing has run up to. */
static bool jumped_to_point(struct gdb_host *h, const struct gdb_resume *r,
			    struct gdb_stop *stop)
{
	const struct host_point *hp;
	struct gdb_thread th;

	if (!h->div_jumped || r->step)
		return false;
	h->div_jumped = false;
	hp = host_point_here(h);
	if (!hp)
		return false;
	host_present(h, &th);
	*stop = (struct gdb_stop){.kind = GDB_STOP_BREAK,
				  .pid = th.pid,
				  .tid = th.tid,
				  .hw = hp->p.type == GDB_POINT_HW};
	return true;
}

static int travel(struct gdb_host *h, const struct gdb_resume *r, struct travel_result *tr)
{
	if (r->step)
		return timeline_step(h->t, r->tid, r->backwards, tr);
	return timeline_continue(h->t, h->pid, r->backwards, tr);
}

/*
 * What a step comes to is told of the thread that was to step: at the place
 * where it begins, no other has moved, and the present may name another.
 */
static void name_stepped(struct gdb_host *h, u32 tid, struct gdb_stop *stop)
{
	struct regs regs;

	if ((stop->kind == GDB_STOP_STEP || stop->kind == GDB_STOP_BEGIN) && tid &&
	    !timeline_regs(h->t, tid, &regs))
		stop->tid = tid;
}

static void moved(struct gdb_host *h, bool backwards)
{
	h->sample_dir = backwards ? -1 : 1;
}

int host_resume(void *ctx, const struct gdb_resume *r, struct gdb_stop *stop)
{
	struct gdb_host *h = ctx;
	struct travel_result tr;
	struct gdb_thread th;
	int err;

	host_present(h, &th);
	h->show_output = true;
	err = host_divert_resume(h, r->backwards);
	if (err < 0)
		goto out;
	if (!err)
		moved(h, r->backwards);
	else if (jumped_to_point(h, r, stop)) {
		err = 0;
		goto out;
	}
	do {
		do {
			err = travel(h, r, &tr);
			if (!err)
				err = passes_over(h, r, &tr);
		} while (err > 0);
	} while (!err && tr.end == TRAVEL_STEP && in_range(h, r));
	if (!err)
		err = stop_from(h, &tr, stop);
	if (!err && r->step)
		name_stepped(h, r->tid ? r->tid : th.tid, stop);
out:
	h->show_output = false;
	return err;
}

int host_restart(void *ctx, struct gdb_stop *stop)
{
	struct gdb_host *h = ctx;
	int r = host_rejoin(h);

	h->told_end = false;
	h->sample = 0;
	if (!r)
		r = timeline_seek_event(h->t, h->begin);
	*stop = (struct gdb_stop){.kind = GDB_STOP_SIGNAL};
	return r < 0 ? r : settle(h, stop, h->begin);
}
