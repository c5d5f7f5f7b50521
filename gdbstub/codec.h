/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * codec.h - the bytes of the GDB remote protocol, and nothing else: frames,
 * checksums, escapes, hex. No I/O, no state beyond what is handed in.
 */
#ifndef GDBSTUB_CODEC_H
#define GDBSTUB_CODEC_H

#include "base/buf.h"

/* The largest packet body that is accepted: told to gdb as PacketSize. */
#define GDB_PACKET_MAX 0x20000

/* ---- receiving ---- */

enum codec_item {
	CODEC_NONE,   /* more bytes are needed */
	CODEC_PACKET, /* body/len: unescaped, checksum right */
	CODEC_BAD,    /* a frame with a wrong checksum or too long: NAK it */
	CODEC_ACK,
	CODEC_NAK,
	CODEC_BREAK, /* 0x03 outside a frame */
};

struct codec {
	u8 state;
	bool escaped, overlong;
	u8 sum, want;
	struct wbuf body;
};

void codec_fini(struct codec *c);
/* Feed one byte. After CODEC_PACKET the body stays until the next call. */
enum codec_item codec_feed(struct codec *c, u8 byte);

/* ---- sending ---- */

/* Append `$`, @n bytes of @body escaped, `#` and the checksum to @out. */
void codec_frame(struct wbuf *out, const void *body, size_t n);

/* ---- text and hex ---- */

void put_str(struct wbuf *b, const char *s);
void put_fmt(struct wbuf *b, const char *fmt, ...) __printf_like(2, 3);
void put_hex(struct wbuf *b, const void *p, size_t n);

/* A cursor over the unparsed rest of a packet. */
struct scan {
	const u8 *p, *end;
};

static inline size_t scan_left(const struct scan *s)
{
	return s->end - s->p;
}

/* Each returns true and steps over what it took, or false and takes nothing. */
bool scan_char(struct scan *s, char c) __must_check;
bool scan_hex(struct scan *s, u64 *v) __must_check; /* 1 to 16 digits */
/* Pairs of hex digits up to the first other byte, appended to @out. */
bool scan_bytes(struct scan *s, struct wbuf *out) __must_check;

/* A thread id: 0 any, -1 all, in each half. */
struct gdb_tid {
	s64 pid, tid;
};

/* "p12.a", "p12", "p-1", "a", "-1", "0". Without a p the pid is 0. */
bool scan_tid(struct scan *s, struct gdb_tid *t) __must_check;
/* @multi: in the form with p. */
void put_tid(struct wbuf *b, bool multi, u32 pid, u32 tid);

#endif
