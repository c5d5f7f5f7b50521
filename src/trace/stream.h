/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stream.h - one append-only stream of records: NAME (packed blocks) and
 * NAME.tail (the block under construction).
 *
 * The tail is a file mapped shared: what the recorder stored there is in the
 * page cache and outlives it, whatever signal ended it. Its space is allocated
 * beforehand, since a store to a page that a full disk cannot back is SIGBUS.
 */
#ifndef PLAYHEAD_TRACE_STREAM_H
#define PLAYHEAD_TRACE_STREAM_H

#include "trace/codec.h"

#define TAIL_BYTES (512U << 10)
#define TAIL_MAGIC 0x314c494154504850 /* "PHPTAIL1" */

struct tail {
	u64 magic;
	u64 first;     /* number of the first record in it */
	u64 committed; /* count << 32 | bytes: one store commits a record */
	u64 spare;
	u8 data[];
};

struct stream_writer;

int stream_writer_new(struct stream_writer **out, int dirfd, const char *name) __must_check;
/* Append one framed record. -ENOSPC and others stick. */
int stream_writer_put(struct stream_writer *s, const struct wbuf *framed) __must_check;
u64 stream_writer_count(const struct stream_writer *s);
/* Pack what is in the tail, then free. */
int stream_writer_close(struct stream_writer *s) __must_check;

struct stream_reader;

/* What is whole before the first damage or cut counts. */
int stream_reader_open(struct stream_reader **out, int dirfd,
		       const char *name) __must_check;
void stream_reader_free(struct stream_reader *s);
u64 stream_reader_count(const struct stream_reader *s);

/* One unpacked block at a time. */
struct stream_view {
	u8 *raw;     /* owned */
	u64 *starts; /* count + 1 offsets of records (their frames) */
	u64 first;
	u32 count;
};

void stream_view_fini(struct stream_view *v);
/* Make @v hold the block with record @number. -ERANGE, -EBADMSG (logged). */
int stream_view_load(struct stream_view *v, struct stream_reader *s,
		     u64 number) __must_check;
/* Borrow record @number, which must be in @v. */
const void *stream_view_get(const struct stream_view *v, u64 number, size_t *n);

#endif
