/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stub.c - the table of packets, their arguments by schema, dispatch.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "gdbstub/private.h"

/*
 * Schema: x a hex number, T a thread id, C any character, H bytes in hex (to
 * the next other character), A text up to the next ':', R the rest as it is,
 * ? the end may come here; anything else is itself. A packet that does not
 * fit is answered with an error and its handler never sees it.
 */
const struct packet packets[] = {
	/* clang-format off */
	{"!", "", pk_extended},
	{"?", "", pk_why},
	{"D", "?;x", pk_detach},
	{"G", "H", pk_set_regs},
	{"H", "CT", pk_set_thread},
	{"M", "x,x:H", pk_write},
	{"P", "x=H", pk_set_reg},
	{"R", "?R", pk_restart},
	{"T", "T", pk_thread_alive},
	{"X", "x,x:R", pk_write},
	{"Z", "C,x,xR", pk_insert},
	{"z", "C,x,xR", pk_remove},
	{"bc", "", pk_back_continue},
	{"bs", "", pk_back_step},
	{"c", "", pk_continue},
	{"C", "x", pk_continue},
	{"g", "", pk_get_regs},
	{"k", "", pk_kill_all},
	{"m", "x,x", pk_read},
	{"p", "x", pk_get_reg},
	{"s", "", pk_step},
	{"S", "x", pk_step},
	{"x", "x,x", pk_read_binary},
	{"QNonStop:", "x", pk_non_stop},
	{"QPassSignals:", "R", pk_pass_signals},
	{"QStartNoAckMode", "", pk_no_ack},
	{"qAttached", "?:x", pk_attached},
	{"qC", "", pk_present},
	{"qGetTLSAddr:", "T,x,x", pk_tls},
	{"qRcmd,", "H", pk_monitor},
	{"qSearch:memory:", "x;x;R", pk_search},
	{"qSupported", "?:R", pk_supported},
	{"qSymbol:", "R", pk_symbol},
	{"qThreadExtraInfo,", "T", pk_thread_info},
	{"qXfer:auxv:read:", "A:x,x", pk_xfer_auxv},
	{"qXfer:exec-file:read:", "A:x,x", pk_xfer_exec_file},
	{"qXfer:features:read:", "A:x,x", pk_xfer_features},
	{"qXfer:siginfo:read:", "A:x,x", pk_xfer_siginfo},
	{"qXfer:siginfo:write:", "A:x:R", pk_xfer_siginfo_write},
	{"qXfer:threads:read:", "A:x,x", pk_xfer_threads},
	{"qfThreadInfo", "", pk_threads_first},
	{"qsThreadInfo", "", pk_threads_next},
	{"vAttach;", "x", pk_attach},
	{"vCont", ";R", pk_vcont},
	{"vCont?", "", pk_vcont_query},
	{"vFile:close:", "x", pk_file_close},
	{"vFile:fstat:", "x", pk_file_fstat},
	{"vFile:open:", "H,x,x", pk_file_open},
	{"vFile:pread:", "x,x,x", pk_file_pread},
	{"vFile:pwrite:", "R", pk_file_refuse},
	{"vFile:readlink:", "H", pk_file_readlink},
	{"vFile:setfs:", "x", pk_file_setfs},
	{"vFile:unlink:", "R", pk_file_refuse},
	{"vKill;", "x", pk_kill},
	{"vRun", "?;R", pk_run},
	{NULL, NULL, NULL},
	/* clang-format on */
};

/* The longest name that @body begins with. A name that goes on with a letter
 * is another packet's: "qCRC:" is not qC. */
static const struct packet *packet_find(const u8 *body, size_t n, size_t *len)
{
	const struct packet *best = NULL;

	*len = 0;
	for (const struct packet *p = packets; p->name; p++) {
		size_t l = strlen(p->name);

		if (l <= *len || l > n || memcmp(body, p->name, l))
			continue;
		if (l > 1 && isalpha(body[l - 1]) && n > l && isalnum(body[l]))
			continue;
		best = p;
		*len = l;
	}
	return best;
}

static bool arg_annex(struct scan *in, struct scan *annex)
{
	annex->p = in->p;
	while (in->p < in->end && *in->p != ':')
		in->p++;
	annex->end = in->p;
	return true;
}

static bool arg_take(struct args *a, struct scan *in, char what)
{
	switch (what) {
	case 'x':
		return a->count < ARRAY_SIZE(a->n) && scan_hex(in, &a->n[a->count++]);
	case 'T':
		return scan_tid(in, &a->tid);
	case 'C':
		if (!scan_left(in))
			return false;
		a->c = *in->p++;
		return true;
	case 'H':
		return scan_bytes(in, &a->bytes);
	case 'A':
		return arg_annex(in, &a->annex);
	case 'R':
		a->rest = *in;
		in->p = in->end;
		return true;
	default:
		return scan_char(in, what);
	}
}

static bool args_parse(struct args *a, struct scan in, const char *schema)
{
	for (; *schema; schema++) {
		if (*schema == '?') {
			if (!scan_left(&in))
				return true;
			continue;
		}
		if (!arg_take(a, &in, *schema))
			return false;
	}
	return !scan_left(&in);
}

unsigned gdbstub_packet(struct gdbstub *s, const void *body, size_t n, struct wbuf *reply)
{
	struct args a = {0};
	const struct packet *p;
	size_t len;
	int r;

	wbuf_reset(reply);
	p = packet_find(body, n, &len);
	if (!p)
		return GDBSTUB_REPLY;
	s->answer = GDBSTUB_REPLY;
	if (args_parse(&a, (struct scan){(const u8 *)body + len, (const u8 *)body + n},
		       p->schema))
		r = p->fn(s, &a, reply);
	else
		r = -EINVAL;
	wbuf_free(&a.bytes);
	if (!r && reply->err)
		r = reply->err;
	if (r < 0) {
		wbuf_reset(reply);
		if (r != -ENOSYS)
			put_fmt(reply, "E%02x", -r & 0xff);
	}
	return s->answer;
}

int gdbstub_new(struct gdbstub **out, const struct gdb_target *t, gdbstub_send_fn send,
		void *ctx)
{
	struct gdbstub *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->t = t;
	s->send = send;
	s->send_ctx = ctx;
	reg_table_init(&s->regs, &t->xsave);
	*out = s;
	return 0;
}

void gdbstub_reset(struct gdbstub *s)
{
	points_clear(s);
	files_close(s);
	if (s->t->released)
		s->t->released(s->t->ctx);
	s->cl = (struct client){0};
	s->xfer_name[0] = 0;
	s->console = false;
}

void gdbstub_free(struct gdbstub *s)
{
	if (!s)
		return;
	points_clear(s);
	files_close(s);
	wbuf_free(&s->xfer);
	wbuf_free(&s->text);
	free(s);
}

void gdbstub_console(struct gdbstub *s, const void *text, size_t n)
{
	const u8 *p = text;

	while (s->console && n) {
		size_t piece = MIN(n, (size_t)4096);
		struct wbuf b = {0};

		put_str(&b, "O");
		put_hex(&b, p, piece);
		if (!b.err)
			s->send(s->send_ctx, b.data, b.len);
		wbuf_free(&b);
		p += piece;
		n -= piece;
	}
}

void put_ok(struct wbuf *out)
{
	put_str(out, "OK");
}

bool stub_alive(struct gdbstub *s)
{
	struct gdb_thread t = {0};

	if (s->cl.gone)
		return false;
	s->t->present(s->t->ctx, &t);
	return t.tid != 0;
}

u32 stub_thread(struct gdbstub *s)
{
	struct gdb_thread t = {0};

	if (s->cl.gone)
		return 0;
	if (s->cl.g.tid > 0)
		return s->cl.g.tid;
	s->t->present(s->t->ctx, &t);
	return t.tid;
}
