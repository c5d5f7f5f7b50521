/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * resume.c - running, in both directions, and what stops are told as.
 */
#include <errno.h>

#include "gdbstub/private.h"
#include "gdbstub/signals.h"

static void put_stop_reason(struct gdbstub *s, const struct gdb_stop *st, struct wbuf *out)
{
	static const char *const watch_names[NR_GDB_POINT_TYPES] = {
		[GDB_POINT_WRITE] = "watch",
		[GDB_POINT_READ] = "rwatch",
		[GDB_POINT_ACCESS] = "awatch",
	};

	switch (st->kind) {
	case GDB_STOP_BREAK:
		if (st->hw && s->cl.hwbreak)
			put_str(out, "hwbreak:;");
		else if (!st->hw && s->cl.swbreak)
			put_str(out, "swbreak:;");
		break;
	case GDB_STOP_WATCH:
		put_fmt(out, "%s:%llx;", watch_names[st->watch] ?: "watch",
			(unsigned long long)st->addr);
		break;
	case GDB_STOP_BEGIN:
		put_str(out, "replaylog:begin;");
		break;
	case GDB_STOP_END:
		put_str(out, "replaylog:end;");
		break;
	default:
		break;
	}
}

static int stop_signal(const struct gdb_stop *st)
{
	if (st->kind == GDB_STOP_INTERRUPTED)
		return 2;
	if (st->kind == GDB_STOP_SIGNAL && st->sig)
		return signal_to_gdb(st->sig);
	return 5;
}

void put_stop(struct gdbstub *s, const struct gdb_stop *st, struct wbuf *out)
{
	static const u8 hasty[] = {GDB_RBP, GDB_RSP, GDB_RIP};

	if (st->kind == GDB_STOP_EXITED || st->kind == GDB_STOP_KILLED) {
		if (st->kind == GDB_STOP_EXITED)
			put_fmt(out, "W%02x", st->status & 0xff);
		else
			put_fmt(out, "X%02x", signal_to_gdb(st->sig));
		if (s->cl.multi)
			put_fmt(out, ";process:%x", st->pid);
		return;
	}
	put_fmt(out, "T%02x", stop_signal(st));
	put_stop_reason(s, st, out);
	put_str(out, "thread:");
	put_tid(out, s->cl.multi, st->pid, st->tid);
	put_str(out, ";");
	if (state_load(s, st->tid, false) < 0)
		return;
	for (size_t i = 0; i < sizeof(hasty); i++) {
		put_fmt(out, "%02x:", hasty[i]);
		put_hex(out, &s->img.gpr[hasty[i]], 8);
		put_str(out, ";");
	}
}

static void stub_stopped(struct gdbstub *s, const struct gdb_stop *st, struct wbuf *out)
{
	s->cl.last = *st;
	/* Listing threads after an exit would make gdb revive one. */
	s->cl.gone = st->kind == GDB_STOP_EXITED || st->kind == GDB_STOP_KILLED;
	put_stop(s, st, out);
}

static int stub_resume(struct gdbstub *s, struct gdb_resume *r, struct wbuf *out)
{
	struct gdb_stop st = {0};
	int err;

	if (!stub_alive(s))
		return -ESRCH;
	r->pass_signals = s->cl.pass_signals;
	s->console = true;
	err = s->t->resume(s->t->ctx, r, &st);
	s->console = false;
	if (err < 0)
		return err;
	stub_stopped(s, &st, out);
	return 0;
}

int pk_why(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct gdb_stop st = s->cl.last;
	struct gdb_thread t = {0};

	if (s->cl.gone && (st.kind == GDB_STOP_EXITED || st.kind == GDB_STOP_KILLED)) {
		put_stop(s, &st, out);
		return 0;
	}
	if (!s->cl.gone)
		s->t->present(s->t->ctx, &t);
	if (!t.tid) {
		put_str(out, "W00");
		return 0;
	}
	if (st.tid != t.tid)
		st = (struct gdb_stop){.pid = t.pid, .tid = t.tid};
	s->cl.last = st;
	put_stop(s, &st, out);
	return 0;
}

int pk_vcont_query(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	put_str(out, "vCont;c;C;s;S;r");
	return 0;
}

struct action {
	char what;
	u64 start, end;
	struct gdb_tid tid;
	bool has_tid;
};

static bool scan_action(struct scan *in, struct action *a)
{
	u64 sig;

	*a = (struct action){0};
	if (!scan_left(in))
		return false;
	a->what = *in->p++;
	switch (a->what) {
	case 'c':
	case 's':
		break;
	case 'C':
	case 'S':
		/* Signals come from the recording; gdb's wish changes nothing. */
		if (!scan_hex(in, &sig))
			return false;
		a->what |= 0x20;
		break;
	case 'r':
		if (!scan_hex(in, &a->start) || !scan_char(in, ',') ||
		    !scan_hex(in, &a->end))
			return false;
		break;
	default:
		return false;
	}
	if (scan_char(in, ':')) {
		a->has_tid = true;
		return scan_tid(in, &a->tid);
	}
	return true;
}

/* One thread runs at a time: the first that is to step decides. */
int pk_vcont(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct scan in = a->rest;
	struct gdb_resume r = {0};
	bool any = false;

	do {
		struct action act;

		if (!scan_action(&in, &act))
			return -EINVAL;
		any = true;
		if (act.what == 'c' || r.step)
			continue;
		r.step = true;
		r.tid = act.has_tid && act.tid.tid > 0 ? act.tid.tid : 0;
		if (act.what == 'r') {
			r.range_start = act.start;
			r.range_end = act.end;
		}
	} while (scan_char(&in, ';'));
	if (!any || scan_left(&in))
		return -EINVAL;
	return stub_resume(s, &r, out);
}

/* The thread that a packet without one means: Hc if it names one, else Hg. */
static u32 stepping_thread(struct gdbstub *s)
{
	if (s->cl.c.tid > 0)
		return s->cl.c.tid;
	return s->cl.g.tid > 0 ? s->cl.g.tid : 0;
}

int pk_continue(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct gdb_resume r = {0};

	return stub_resume(s, &r, out);
}

int pk_step(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct gdb_resume r = {.step = true, .tid = stepping_thread(s)};

	return stub_resume(s, &r, out);
}

int pk_back_step(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct gdb_resume r = {.step = true, .backwards = true, .tid = stepping_thread(s)};

	return stub_resume(s, &r, out);
}

int pk_back_continue(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct gdb_resume r = {.backwards = true};

	return stub_resume(s, &r, out);
}

int pk_run(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct gdb_stop st = {0};
	int r;

	if (!s->t->restart)
		return -ENOSYS;
	/* gdb takes its points for lost with the old process and sends them anew. */
	points_clear(s);
	r = s->t->restart(s->t->ctx, &st);
	if (r < 0)
		return r;
	s->cl.g = s->cl.c = (struct gdb_tid){0};
	stub_stopped(s, &st, out);
	return 0;
}

int pk_restart(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct gdb_stop st = {0};

	s->answer = 0; /* R has no reply */
	if (!s->t->restart || s->t->restart(s->t->ctx, &st) < 0)
		return 0;
	s->cl.last = st;
	s->cl.gone = false;
	return 0;
}

int pk_attach(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct gdb_thread t = {0};
	struct gdb_stop st;

	s->t->present(s->t->ctx, &t);
	if (!t.tid || a->n[0] != t.pid)
		return -ESRCH;
	st = (struct gdb_stop){.pid = t.pid, .tid = t.tid};
	stub_stopped(s, &st, out);
	return 0;
}

static void stub_leave(struct gdbstub *s)
{
	points_clear(s);
	if (s->t->released)
		s->t->released(s->t->ctx);
	s->cl.gone = true;
	s->cl.last = (struct gdb_stop){0};
}

int pk_kill(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	stub_leave(s);
	put_ok(out);
	return 0;
}

int pk_kill_all(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	stub_leave(s);
	s->answer = s->cl.extended ? 0 : GDBSTUB_CLOSE; /* k has no reply */
	return 0;
}

int pk_detach(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	stub_leave(s);
	put_ok(out);
	return 0;
}

int pk_pass_signals(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct scan in = a->rest;
	u64 set = 0, sig;

	while (scan_left(&in)) {
		int lin;

		if (!scan_hex(&in, &sig) || (scan_left(&in) && !scan_char(&in, ';')))
			return -EINVAL;
		lin = sig < 256 ? signal_from_gdb(sig) : 0;
		if (lin)
			set |= 1ULL << (lin - 1);
	}
	s->cl.pass_signals = set;
	put_ok(out);
	return 0;
}
