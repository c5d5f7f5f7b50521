/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/log.h"
#include "trace/files.h"
#include "trace/stream.h"
#include "trace/trace.h"

struct trace_writer {
	int dirfd, tables;
	struct stream_writer *events, *samples;
	struct files *files;
	struct wbuf buf;
	int end; /* end.tmp, its room set aside while there still was some */
	int err; /* the first failure; nothing is appended after it */
};

#define END_ROOM 4096

static int write_whole(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t got = write(fd, at, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		at += got;
		n -= got;
	}
	return 0;
}

static int write_meta(int dirfd, const struct trace_meta *meta)
{
	struct wbuf b = {0};
	u64 sum;
	int fd, err;

	wbuf_bytes(&b, "PLAYHEAD", 8);
	wbuf_u32(&b, TRACE_VERSION);
	wbuf_u32(&b, 0);
	err = meta_encode(&b, meta);
	if (err)
		goto out;
	*(u32 *)(b.data + 12) = b.len - 16;
	sum = XXH3_64bits(b.data, b.len);
	wbuf_u64(&b, sum);
	err = b.err;
	if (err)
		goto out;
	fd = openat(dirfd, "meta", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	err = fd < 0 ? -errno : write_whole(fd, b.data, b.len);
	if (fd >= 0)
		close(fd);
out:
	wbuf_free(&b);
	return err;
}

static void trace_writer_free(struct trace_writer *w)
{
	files_free(w->files);
	wbuf_free(&w->buf);
	if (w->end >= 0)
		close(w->end);
	if (w->tables >= 0)
		close(w->tables);
	if (w->dirfd >= 0)
		close(w->dirfd);
	free(w);
}

static int open_end(struct trace_writer *w)
{
	w->end = openat(w->dirfd, "end.tmp", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (w->end < 0)
		return -errno;
	return -posix_fallocate(w->end, 0, END_ROOM);
}

int trace_writer_new(struct trace_writer **out, const char *dir,
		     const struct trace_meta *meta)
{
	struct trace_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->tables = -1;
	w->end = -1;
	w->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Tells others that it is live; some filesystems have no locks. */
	if (w->dirfd >= 0 && flock(w->dirfd, LOCK_EX | LOCK_NB))
		log_debug("%s cannot be locked: %s", dir, strerror(errno));
	err = w->dirfd < 0 ? -errno : write_meta(w->dirfd, meta);
	if (!err) {
		w->tables =
			openat(w->dirfd, "tables",
			       O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
		err = w->tables < 0 ? -errno : 0;
	}
	if (!err)
		err = open_end(w);
	if (!err)
		err = files_new(&w->files, w->dirfd);
	if (!err)
		err = stream_writer_new(&w->events, w->dirfd, "events");
	if (!err)
		err = stream_writer_new(&w->samples, w->dirfd, "samples");
	if (err) {
		log_error("cannot write the trace %s: %s", dir, strerror(-err));
		if (stream_writer_close(w->events))
			log_debug("events stream not closed");
		trace_writer_free(w);
		return err;
	}
	*out = w;
	return 0;
}

static int put(struct trace_writer *w, struct stream_writer *s, size_t at, int err)
{
	frame_end(&w->buf, at);
	if (!err)
		err = stream_writer_put(s, &w->buf);
	if (err && !w->err) {
		log_error("cannot write the trace: %s; it is whole up to event %lu",
			  strerror(-err), stream_writer_count(w->events));
		w->err = err;
	}
	return w->err;
}

int trace_writer_event(struct trace_writer *w, struct event *ev)
{
	size_t at;
	int err;

	if (w->err)
		return w->err;
	wbuf_reset(&w->buf);
	at = frame_begin(&w->buf);
	err = event_encode(&w->buf, ev);
	ev->number = stream_writer_count(w->events) + 1;
	return put(w, w->events, at, err);
}

int trace_writer_sample(struct trace_writer *w, struct sample *s)
{
	size_t at;
	int err;

	if (w->err)
		return w->err;
	wbuf_reset(&w->buf);
	at = frame_begin(&w->buf);
	err = sample_encode(&w->buf, s);
	s->number = stream_writer_count(w->samples) + 1;
	return put(w, w->samples, at, err);
}

u64 trace_writer_last(const struct trace_writer *w)
{
	return stream_writer_count(w->events);
}

static int put_table(struct trace_writer *w, size_t at, int err)
{
	frame_end(&w->buf, at);
	if (!err)
		err = w->buf.err;
	if (!err)
		err = write_whole(w->tables, w->buf.data, w->buf.len);
	if (err && !w->err) {
		log_error("cannot write the trace's tables: %s", strerror(-err));
		w->err = err;
	}
	return w->err;
}

int trace_writer_file(struct trace_writer *w, int fd, const char *name, u32 *id)
{
	struct trace_file f;
	size_t at;
	int fresh;

	if (w->err)
		return w->err;
	fresh = files_keep(w->files, fd, name, &f);
	if (fresh < 0) {
		log_error("cannot keep %s in the trace: %s", name, strerror(-fresh));
		if (fresh == -ENOSPC)
			w->err = fresh;
		return fresh;
	}
	*id = f.id;
	if (!fresh)
		return 0;
	wbuf_reset(&w->buf);
	at = frame_begin(&w->buf);
	return put_table(w, at, table_encode_file(&w->buf, &f));
}

int trace_writer_ksym(struct trace_writer *w, u64 addr, const char *name)
{
	size_t at;

	if (w->err)
		return w->err;
	wbuf_reset(&w->buf);
	at = frame_begin(&w->buf);
	return put_table(w, at, table_encode_ksym(&w->buf, addr, name));
}

static int write_end(struct trace_writer *w, const struct trace_end *end)
{
	struct wbuf b = {0};
	size_t at = frame_begin(&b);
	int err = end_encode(&b, end);

	frame_end(&b, at);
	if (err)
		goto out;
	err = write_whole(w->end, b.data, b.len);
	/* Only then may the rest of the room go: a full disk can need it. */
	if (!err && ftruncate(w->end, b.len))
		err = -errno;
	if (!err && renameat(w->dirfd, "end.tmp", w->dirfd, "end"))
		err = -errno;
out:
	wbuf_free(&b);
	return err;
}

/* Once all is packed, a tail is of no more use. */
static int close_stream(struct trace_writer *w, struct stream_writer *s, const char *tail)
{
	int err = stream_writer_close(s);

	if (!err)
		unlinkat(w->dirfd, tail, 0);
	return err;
}

int trace_writer_close(struct trace_writer *w, const struct trace_end *end)
{
	struct trace_end e = *end;
	char why[128];
	int err = w->err, err2;

	e.events = stream_writer_count(w->events);
	e.samples = stream_writer_count(w->samples);
	err2 = close_stream(w, w->events, "events.tail");
	err = err ? err : err2;
	err2 = close_stream(w, w->samples, "samples.tail");
	err = err ? err : err2;
	e.clean = e.clean && !err;
	if (err && !e.why[0]) {
		snprintf(why, sizeof(why), "the trace could not be written: %s",
			 strerror(-err));
		e.why = why;
	}
	err2 = write_end(w, &e);
	if (err2 && !err) {
		log_error("cannot close the trace: %s", strerror(-err2));
		err = err2;
	}
	trace_writer_free(w);
	return err;
}
