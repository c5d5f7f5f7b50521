/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * query.c - what is supported, objects read in pieces, symbols, monitor.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "gdbstub/monitor.h"
#include "gdbstub/private.h"

static bool scan_word(struct scan *in, char sep, struct scan *word)
{
	if (!scan_left(in))
		return false;
	word->p = in->p;
	while (in->p < in->end && *in->p != (u8)sep)
		in->p++;
	word->end = in->p;
	if (in->p < in->end)
		in->p++;
	return true;
}

static bool word_is(const struct scan *w, const char *s)
{
	return scan_left(w) == strlen(s) && !memcmp(w->p, s, scan_left(w));
}

int pk_supported(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct scan in = a->rest, w;

	while (scan_word(&in, ';', &w)) {
		if (word_is(&w, "multiprocess+"))
			s->cl.multi = true;
		else if (word_is(&w, "swbreak+"))
			s->cl.swbreak = true;
		else if (word_is(&w, "hwbreak+"))
			s->cl.hwbreak = true;
	}
	put_fmt(out, "PacketSize=%x", GDB_PACKET_MAX);
	put_str(out, ";QStartNoAckMode+;multiprocess+;swbreak+;hwbreak+;vContSupported+"
		     ";ReverseStep+;ReverseContinue+;ConditionalBreakpoints+"
		     ";QPassSignals+;qXfer:features:read+;qXfer:threads:read+"
		     ";binary-upload+");
	if (s->t->object)
		put_str(out, ";qXfer:auxv:read+;qXfer:exec-file:read+"
			     ";qXfer:siginfo:read+;qXfer:siginfo:write+");
	return 0;
}

int pk_no_ack(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	s->answer |= GDBSTUB_NOACK;
	put_ok(out);
	return 0;
}

int pk_non_stop(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	if (a->n[0])
		return -EOPNOTSUPP;
	put_ok(out);
	return 0;
}

int pk_extended(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	s->cl.extended = true;
	put_ok(out);
	return 0;
}

/* "Attached": so that gdb detaches when it quits instead of killing. */
int pk_attached(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	put_str(out, "1");
	return 0;
}

/* ---- symbols and thread-local storage ---- */

/* gdb answers each "qSymbol:NAME" with "qSymbol:VALUE:NAME" and asks again. */
int pk_symbol(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	const char *const *names = s->t->symbols;
	size_t asked = s->cl.symbol_asked, i;
	struct scan in = a->rest;
	u64 addr = 0;
	bool known = scan_hex(&in, &addr);

	if (!scan_char(&in, ':'))
		return -EINVAL;
	if (!names || !s->t->symbol) {
		put_ok(out);
		return 0;
	}
	/* "::" begins the asking; an answer without a value: it has none. */
	i = scan_left(&in) ? asked : 0;
	if (i && asked)
		s->t->symbol(s->t->ctx, asked - 1, known ? addr : 0);
	if (names[i]) {
		put_str(out, "qSymbol:");
		put_hex(out, names[i], strlen(names[i]));
		s->cl.symbol_asked = i + 1;
	} else {
		put_ok(out);
		s->cl.symbol_asked = 0;
	}
	return 0;
}

int pk_tls(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	u64 addr;
	int r;

	if (!s->t->tls)
		return -ENOSYS;
	if (a->tid.tid <= 0 || !stub_alive(s))
		return -ESRCH;
	r = s->t->tls(s->t->ctx, a->tid.tid, a->n[0], a->n[1], &addr);
	if (r < 0)
		return r;
	put_fmt(out, "%llx", (unsigned long long)addr);
	return 0;
}

/* ---- monitor ---- */

int pk_monitor(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	int r;

	if (!s->t->monitor)
		return -ENOSYS;
	wbuf_u8(&a->bytes, 0);
	if (a->bytes.err)
		return a->bytes.err;
	wbuf_reset(&s->text);
	s->console = true;
	r = monitor_run(s->t->monitor, s->t->ctx, (const char *)a->bytes.data, &s->text);
	if (!s->text.err)
		gdbstub_console(s, s->text.data, s->text.len);
	s->console = false;
	if (r < 0)
		return r == -ENOSYS ? -EOPNOTSUPP : r;
	put_ok(out);
	return 0;
}

/* ---- objects ---- */

/* A piece of s->xfer: 'm' if more follows, 'l' if it is the last. */
static void put_piece(struct gdbstub *s, u64 offset, u64 len, struct wbuf *out)
{
	size_t at = MIN(offset, (u64)s->xfer.len);
	size_t n = MIN(MIN(len, (u64)READ_PIECE_MAX), (u64)(s->xfer.len - at));

	put_str(out, at + n < s->xfer.len ? "m" : "l");
	wbuf_bytes(out, s->xfer.data + at, n);
}

/* Made anew when read from its start, so that pieces fit each other. */
static bool xfer_begin(struct gdbstub *s, const char *name, u64 offset)
{
	if (offset && !strcmp(s->xfer_name, name))
		return false;
	wbuf_reset(&s->xfer);
	snprintf(s->xfer_name, sizeof(s->xfer_name), "%s", name);
	return true;
}

static int xfer_object(struct gdbstub *s, const char *name, enum gdb_object o,
		       struct args *a, struct wbuf *out)
{
	int r = 0;

	if (!s->t->object)
		return -ENOSYS;
	if (!stub_alive(s))
		return -ESRCH;
	if (xfer_begin(s, name, a->n[0]))
		r = s->t->object(s->t->ctx, o, &s->xfer);
	if (!r)
		r = s->xfer.err;
	if (r < 0) {
		s->xfer_name[0] = 0;
		return r;
	}
	put_piece(s, a->n[0], a->n[1], out);
	return 0;
}

int pk_xfer_auxv(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	return xfer_object(s, "auxv", GDB_AUXV, a, out);
}

int pk_xfer_exec_file(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	return xfer_object(s, "exec-file", GDB_EXEC_FILE, a, out);
}

int pk_xfer_siginfo(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	return xfer_object(s, "siginfo", GDB_SIGINFO, a, out);
}

/* gdb puts siginfo back after each call of a function: it is as it was. */
int pk_xfer_siginfo_write(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	put_fmt(out, "%zx", scan_left(&a->rest));
	return 0;
}

int pk_xfer_features(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	if (!word_is(&a->annex, "target.xml"))
		return -ENOENT;
	if (xfer_begin(s, "features", a->n[0]))
		reg_table_xml(&s->regs, &s->xfer);
	if (s->xfer.err)
		return s->xfer.err;
	put_piece(s, a->n[0], a->n[1], out);
	return 0;
}

static void put_xml_text(struct wbuf *b, const char *s)
{
	for (; *s; s++) {
		if (strchr("<>&\"'", *s) || (u8)*s < 0x20)
			put_fmt(b, "&#%d;", (u8)*s < 0x20 ? '?' : *s);
		else
			wbuf_u8(b, *s);
	}
}

static void put_threads_xml(struct gdbstub *s, struct wbuf *b)
{
	size_t n;
	struct gdb_thread *v = state_threads(s, &n);

	put_str(b, "<?xml version=\"1.0\"?><threads>");
	for (size_t i = 0; i < n; i++) {
		char name[64];

		put_str(b, "<thread id=\"");
		put_tid(b, s->cl.multi, v[i].pid, v[i].tid);
		put_str(b, "\"");
		if (s->t->thread_name &&
		    !s->t->thread_name(s->t->ctx, v[i].tid, name, sizeof(name))) {
			put_str(b, " name=\"");
			put_xml_text(b, name);
			put_str(b, "\"");
		}
		put_str(b, "/>");
	}
	put_str(b, "</threads>");
	free(v);
}

int pk_xfer_threads(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	if (xfer_begin(s, "threads", a->n[0]))
		put_threads_xml(s, &s->xfer);
	if (s->xfer.err)
		return s->xfer.err;
	put_piece(s, a->n[0], a->n[1], out);
	return 0;
}
