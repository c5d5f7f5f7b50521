/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stdio.h>

#include "gdbstub/codec.h"

enum { ST_IDLE, ST_BODY, ST_SUM1, ST_SUM2 };

static int hex_digit(u8 c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

void codec_fini(struct codec *c)
{
	wbuf_free(&c->body);
	*c = (struct codec){0};
}

static void codec_start(struct codec *c)
{
	wbuf_reset(&c->body);
	c->state = ST_BODY;
	c->sum = 0;
	c->escaped = false;
	c->overlong = false;
}

static void codec_body_byte(struct codec *c, u8 byte)
{
	c->sum += byte;
	if (byte == '}' && !c->escaped) {
		c->escaped = true;
		return;
	}
	if (c->escaped)
		byte ^= 0x20;
	c->escaped = false;
	if (c->body.len >= GDB_PACKET_MAX)
		c->overlong = true;
	else
		wbuf_u8(&c->body, byte);
}

static enum codec_item codec_idle_byte(struct codec *c, u8 byte)
{
	switch (byte) {
	case '$':
		codec_start(c);
		return CODEC_NONE;
	case '+':
		return CODEC_ACK;
	case '-':
		return CODEC_NAK;
	case 0x03:
		return CODEC_BREAK;
	default: /* line noise between frames is not an error of the protocol */
		return CODEC_NONE;
	}
}

static enum codec_item codec_end(struct codec *c, int digit)
{
	c->state = ST_IDLE;
	if (digit < 0 || (c->want | digit) != c->sum)
		return CODEC_BAD;
	if (c->escaped || c->overlong || c->body.err)
		return CODEC_BAD;
	return CODEC_PACKET;
}

enum codec_item codec_feed(struct codec *c, u8 byte)
{
	int digit;

	switch (c->state) {
	case ST_BODY:
		if (byte == '#')
			c->state = ST_SUM1;
		else if (byte == '$') /* never in a body: a frame was cut short */
			codec_start(c);
		else
			codec_body_byte(c, byte);
		return CODEC_NONE;
	case ST_SUM1:
		digit = hex_digit(byte);
		if (digit < 0)
			return codec_end(c, digit);
		c->want = digit << 4;
		c->state = ST_SUM2;
		return CODEC_NONE;
	case ST_SUM2:
		return codec_end(c, hex_digit(byte));
	default:
		return codec_idle_byte(c, byte);
	}
}

void codec_frame(struct wbuf *out, const void *body, size_t n)
{
	const u8 *p = body;
	char tail[4];
	u8 sum = 0;

	wbuf_u8(out, '$');
	for (size_t i = 0; i < n; i++) {
		u8 c = p[i];

		/* '*' begins a run in what a stub sends. */
		if (c == '$' || c == '#' || c == '}' || c == '*') {
			wbuf_u8(out, '}');
			sum += '}';
			c ^= 0x20;
		}
		wbuf_u8(out, c);
		sum += c;
	}
	snprintf(tail, sizeof(tail), "#%02x", sum);
	wbuf_bytes(out, tail, 3);
}

void put_str(struct wbuf *b, const char *s)
{
	wbuf_bytes(b, s, strlen(s));
}

void put_fmt(struct wbuf *b, const char *fmt, ...)
{
	char buf[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if (n > 0)
		wbuf_bytes(b, buf, MIN((size_t)n, sizeof(buf) - 1));
}

void put_hex(struct wbuf *b, const void *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const u8 *src = p;
	u8 *to = wbuf_grow(b, n * 2);

	if (!to)
		return;
	for (size_t i = 0; i < n; i++) {
		to[2 * i] = digits[src[i] >> 4];
		to[2 * i + 1] = digits[src[i] & 15];
	}
}

bool scan_char(struct scan *s, char c)
{
	if (s->p == s->end || *s->p != (u8)c)
		return false;
	s->p++;
	return true;
}

bool scan_hex(struct scan *s, u64 *v)
{
	const u8 *p = s->p;
	u64 x = 0;
	int d;

	for (; p < s->end && (d = hex_digit(*p)) >= 0; p++) {
		if (x >> 60)
			return false;
		x = x << 4 | d;
	}
	if (p == s->p)
		return false;
	s->p = p;
	*v = x;
	return true;
}

bool scan_bytes(struct scan *s, struct wbuf *out)
{
	const u8 *p = s->p;

	for (; s->end - p >= 2; p += 2) {
		int hi = hex_digit(p[0]), lo = hex_digit(p[1]);

		if (hi < 0)
			break;
		if (lo < 0)
			return false;
		wbuf_u8(out, hi << 4 | lo);
	}
	if (s->end - p == 1 && hex_digit(*p) >= 0)
		return false;
	s->p = p;
	return !out->err;
}

static bool scan_id(struct scan *s, s64 *id)
{
	u64 v;

	if (scan_left(s) >= 2 && s->p[0] == '-' && s->p[1] == '1') {
		s->p += 2;
		*id = -1;
		return true;
	}
	if (!scan_hex(s, &v) || v > INT32_MAX)
		return false;
	*id = v;
	return true;
}

bool scan_tid(struct scan *s, struct gdb_tid *t)
{
	struct scan was = *s;

	*t = (struct gdb_tid){0};
	if (scan_char(s, 'p')) {
		if (!scan_id(s, &t->pid))
			goto bad;
		t->tid = -1;
		if (scan_char(s, '.') && !scan_id(s, &t->tid))
			goto bad;
		return true;
	}
	if (scan_id(s, &t->tid))
		return true;
bad:
	*s = was;
	return false;
}

void put_tid(struct wbuf *b, bool multi, u32 pid, u32 tid)
{
	if (multi)
		put_fmt(b, "p%x.%x", pid, tid);
	else
		put_fmt(b, "%x", tid);
}
