/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * trace.h - write a trace folder, read one.
 *
 * A trace is append-only: two streams (events, samples) of checksummed zstd
 * blocks, each with an uncompressed tail mapped shared, so that what was put
 * in survives the recorder's death by any signal up to the last whole record.
 */
#ifndef PLAYHEAD_TRACE_H
#define PLAYHEAD_TRACE_H

#include "trace/format.h"

/* ---- where traces live (src/trace/dir.c) ---- */

/* $PLAYHEAD_DIR, else $XDG_DATA_HOME/playhead, else ~/.local/share/playhead. */
int trace_home(char *out, size_t n) __must_check;
/* Make NAME-N (mode 0700) for @program below the home and point `latest` at
 * it; with @dir, make exactly that (-EEXIST if it is there). */
int trace_dir_create(const char *dir, const char *program, char *out,
		     size_t n) __must_check;
/*
 * The folder a user means: NULL: the latest; a path; or a name below the home.
 * Logs one line that says what is wrong: missing, not a trace.
 */
int trace_dir_find(const char *given, char *out, size_t n) __must_check;

/*
 * Call @fn with the path of every trace below the home, oldest first, and
 * whether `latest` points at it. Stops at the first value that is not 0 and
 * returns it. A home that does not exist has none.
 */
int trace_dir_each(int (*fn)(void *ctx, const char *path, bool latest),
		   void *ctx) __must_check;
/* Is a recorder at work on the trace at @path? */
bool trace_dir_is_live(const char *path);
/* Remove a trace and all below it; `latest` then points at the newest left.
 * -EINVAL: it is not a trace, -EBUSY: it is live; nothing is touched. */
int trace_dir_remove(const char *path) __must_check;
/* Bytes on disk below @path. */
u64 trace_dir_size(const char *path);

/* ---- writer ---- */

struct trace_writer;

int trace_writer_new(struct trace_writer **out, const char *dir,
		     const struct trace_meta *meta) __must_check;
/*
 * Append. ev->number is set here and returned through it. All pointers are
 * borrowed for the call. -ENOSPC: the disk is full; what was appended before
 * stays readable and the writer refuses more.
 */
int trace_writer_event(struct trace_writer *w, struct event *ev) __must_check;
int trace_writer_sample(struct trace_writer *w, struct sample *s) __must_check;
/* The number of the last event appended, 0 before the first. */
u64 trace_writer_last(const struct trace_writer *w);
/*
 * Keep the file open at @fd (of any process: "/proc/PID/fd/N" was opened by
 * the caller) by reflink, hard link (only if the program cannot write it) or
 * copy; once for each (dev, ino, mtime, size). *@id gets its number.
 */
int trace_writer_file(struct trace_writer *w, int fd, const char *name,
		      u32 *id) __must_check;
/* A kernel text symbol seen in samples, for reports: name of @addr. */
int trace_writer_ksym(struct trace_writer *w, u64 addr, const char *name) __must_check;
/* Write everything out and mark the end. @w is freed whatever is returned. */
int trace_writer_close(struct trace_writer *w, const struct trace_end *end) __must_check;

/* ---- reader ---- */

struct trace_reader;

/* Logs one line on failure: missing, foreign, newer version, damaged. */
int trace_reader_open(struct trace_reader **out, const char *dir) __must_check;
void trace_reader_free(struct trace_reader *r);
const char *trace_reader_dir(const struct trace_reader *r);
const struct trace_meta *trace_reader_meta(const struct trace_reader *r);
/* For an interrupted recording, counted from what is whole; clean is false. */
const struct trace_end *trace_reader_end(const struct trace_reader *r);

/* A position in the event stream. Cheap to have several. */
struct trace_cursor;

int trace_cursor_new(struct trace_reader *r, struct trace_cursor **out) __must_check;
void trace_cursor_free(struct trace_cursor *c);
/* The next event; *@ev is borrowed until the next call on this cursor.
 * 1: there is one; 0: the end; -errno (-EBADMSG: damaged, logged). */
int trace_cursor_next(struct trace_cursor *c, const struct event **ev) __must_check;
/* So that the next one is event @number; past the end: -ERANGE. Uses the
 * block index: costs one block. */
int trace_cursor_seek(struct trace_cursor *c, u64 number) __must_check;

/* Samples: by number, and in order. Borrowed until the next call on @r. */
u64 trace_reader_samples(const struct trace_reader *r);
int trace_reader_sample(struct trace_reader *r, u64 number,
			const struct sample **s) __must_check;

/* NULL if there is no such file. Borrowed from @r. */
const struct trace_file *trace_reader_file(struct trace_reader *r, u32 id);
/* Absolute path of the kept copy; -ENOENT if it was not kept. */
int trace_reader_file_path(struct trace_reader *r, u32 id, char *out,
			   size_t n) __must_check;
/* Name of a kernel address, or NULL. */
const char *trace_reader_ksym(struct trace_reader *r, u64 addr);

/* ---- text (src/trace/text.c) ---- */

/* One event on one line, as `playhead events` shows it, no newline. */
void event_text(const struct event *ev, char *out, size_t n);

/* ---- address spaces over time (src/trace/maps.c) ---- */

struct map {
	u64 start, end;
	u32 prot, flags;
	u64 offset;
	u32 file, share;
	char *name;
};

struct maps {
	struct map *v; /* sorted by start, not overlapping */
	size_t n, cap;
};

void maps_fini(struct maps *m);
int maps_copy(struct maps *to, const struct maps *from) __must_check;
/* EF_MAP, EF_UNMAP, EF_PROTECT, EF_REMAP; others change nothing. */
int maps_apply(struct maps *m, const struct effect *e) __must_check;
/* The mapping that holds @addr, or NULL. */
const struct map *maps_find(const struct maps *m, u64 addr);

#endif
