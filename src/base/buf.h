/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * buf.h - a growing writer and a bounded reader of little-endian bytes.
 *
 * Both keep the first error and turn every later call into a no-op (reads
 * give 0), so that a codec checks once, at its end.
 */
#ifndef PLAYHEAD_BUF_H
#define PLAYHEAD_BUF_H

#include <string.h>

#include "base/base.h"

struct wbuf {
	u8 *data; /* owned; free with wbuf_free() */
	size_t len, cap;
	int err; /* 0 or -ENOMEM */
};

void wbuf_free(struct wbuf *b);
/* Room for @n more bytes at the end, already counted in len; NULL if none. */
void *wbuf_grow(struct wbuf *b, size_t n);
void wbuf_bytes(struct wbuf *b, const void *p, size_t n);
void wbuf_u8(struct wbuf *b, u8 v);
void wbuf_u16(struct wbuf *b, u16 v);
void wbuf_u32(struct wbuf *b, u32 v);
void wbuf_u64(struct wbuf *b, u64 v);
/* LEB128, 1 to 10 bytes. */
void wbuf_var(struct wbuf *b, u64 v);
/* Length as wbuf_var, then the bytes, no terminator. NULL is written as "". */
void wbuf_str(struct wbuf *b, const char *s);

static inline void wbuf_reset(struct wbuf *b)
{
	b->len = 0;
	b->err = 0;
}

struct rbuf {
	const u8 *p, *end; /* borrowed */
	int err;	   /* 0 or -EBADMSG: a read went past the end */
};

static inline struct rbuf rbuf_of(const void *p, size_t n)
{
	return (struct rbuf){.p = p, .end = (const u8 *)p + n};
}

static inline size_t rbuf_left(const struct rbuf *b)
{
	return b->end - b->p;
}

/* Borrow @n bytes in place and step over them; NULL if there are fewer. */
const void *rbuf_take(struct rbuf *b, size_t n);
void rbuf_bytes(struct rbuf *b, void *p, size_t n);
u8 rbuf_u8(struct rbuf *b);
u16 rbuf_u16(struct rbuf *b);
u32 rbuf_u32(struct rbuf *b);
u64 rbuf_u64(struct rbuf *b);
u64 rbuf_var(struct rbuf *b);
/* Borrow a string written by wbuf_str: not terminated, @n gets its length. */
const char *rbuf_str(struct rbuf *b, size_t *n);
/* The same as a terminated copy to free(); NULL on error. */
char *rbuf_strdup(struct rbuf *b);

/*
 * Make room for @need elements of @size bytes in *@arr (doubling).
 * Returns 0 or -ENOMEM; *@arr is untouched on error.
 */
int array_reserve(void *arr, size_t *cap, size_t need, size_t size) __must_check;

#endif
