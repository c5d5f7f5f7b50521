/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * codec.h - events, samples and tables to bytes and back. Pure: no I/O, no
 * statics. The bytes are described in codec.c.
 */
#ifndef PLAYHEAD_TRACE_CODEC_H
#define PLAYHEAD_TRACE_CODEC_H

#include "base/buf.h"
#include "trace/format.h"

/* What a decoded event points to, reused from event to event. */
#define STORE_MAX_FORKS 4

struct event_store {
	struct effect *effects;
	size_t cap_effects;
	struct point_page *pages;
	size_t cap_pages;
	struct regs forks[STORE_MAX_FORKS];
	siginfo_t siginfo;
};

void event_store_fini(struct event_store *st);

/* Append @ev to @b; errors are kept in @b. -E2BIG: more forks than a store
 * holds. */
int event_encode(struct wbuf *b, const struct event *ev) __must_check;
/*
 * Decode one event from all of [@p, @p + @n). @ev borrows from the bytes and
 * from @st; its number is left alone. -EBADMSG or -ENOMEM.
 */
int event_decode(const void *p, size_t n, struct event *ev,
		 struct event_store *st) __must_check;

int sample_encode(struct wbuf *b, const struct sample *s) __must_check;
int sample_decode(const void *p, size_t n, struct sample *s) __must_check;

int meta_encode(struct wbuf *b, const struct trace_meta *m) __must_check;
/* Strings are borrowed from the bytes. */
int meta_decode(const void *p, size_t n, struct trace_meta *m) __must_check;
int end_encode(struct wbuf *b, const struct trace_end *e) __must_check;
int end_decode(const void *p, size_t n, struct trace_end *e) __must_check;

enum table_kind { TABLE_FILE = 1, TABLE_KSYM };

int table_encode_file(struct wbuf *b, const struct trace_file *f) __must_check;
int table_encode_ksym(struct wbuf *b, u64 addr, const char *name) __must_check;
/* *@kind says which of the two was filled. Strings are borrowed. */
int table_decode(const void *p, size_t n, int *kind, struct trace_file *f, u64 *addr,
		 const char **name) __must_check;

/* ---- framing: {u32 length, u32 check} before each record ---- */

#define FRAME_BYTES 8

u32 frame_check(const void *p, size_t n);
/* Start a frame at the end of @b, to be closed once the record is in. */
size_t frame_begin(struct wbuf *b);
void frame_end(struct wbuf *b, size_t at);
/* Take one whole record off @r: 1; nothing left: 0; cut or damaged: -EBADMSG. */
int frame_next(struct rbuf *r, const void **p, size_t *n) __must_check;

/* ---- block header ---- */

#define BLOCK_MAGIC   0x31424850 /* "PHB1" */
#define BLOCK_BYTES   40
#define BLOCK_RAW_MAX (1U << 30)

struct block {
	u32 raw_len, packed_len, count;
	u64 first;  /* number of its first record */
	u64 hash;   /* XXH3 64 of the packed bytes */
	u64 offset; /* of the packed bytes in the file; not stored */
};

void block_encode(u8 out[BLOCK_BYTES], const struct block *b);
/* -EBADMSG: not a whole, sane header. */
int block_decode(const u8 in[BLOCK_BYTES], struct block *b) __must_check;

#endif
