/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/log.h"
#include "trace/stream.h"
#include "trace/trace.h"

struct ksym {
	u64 addr;
	const char *name;
};

struct trace_reader {
	char dir[PATH_MAX];
	int dirfd;
	struct trace_meta meta;
	struct trace_end end;
	u8 *meta_bytes, *end_bytes, *table_bytes; /* what the strings point into */
	struct stream_reader *events, *samples;
	struct trace_file *files;
	size_t n_files, cap_files;
	struct ksym *ksyms;
	size_t n_ksyms, cap_ksyms;
	struct stream_view sample_view;
	struct sample sample;
};

struct trace_cursor {
	struct trace_reader *r;
	u64 next;
	struct stream_view view;
	struct event_store store;
	struct event ev;
};

/* A file of at most 256 MiB in memory to free(); -errno. */
static int slurp(int dirfd, const char *name, u8 **out, size_t *n)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t got;
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > (256 << 20)) {
		close(fd);
		return -EBADMSG;
	}
	*out = malloc(st.st_size + 1);
	got = *out ? pread(fd, *out, st.st_size, 0) : -1;
	if (got < 0)
		err = *out ? -errno : -ENOMEM;
	else
		*n = got;
	close(fd);
	return err;
}

static int read_meta(struct trace_reader *r)
{
	u32 version, len;
	size_t n;
	u64 sum;
	int err = slurp(r->dirfd, "meta", &r->meta_bytes, &n);

	if (err == -ENOENT) {
		log_error("%s is not a trace: it has no meta file", r->dir);
		return err;
	}
	if (err)
		goto damaged;
	if (n < 8 || memcmp(r->meta_bytes, "PLAYHEAD", 8)) {
		log_error("%s is not a trace of Playhead", r->dir);
		return -EINVAL;
	}
	if (n < 24)
		goto damaged;
	memcpy(&version, r->meta_bytes + 8, 4);
	memcpy(&len, r->meta_bytes + 12, 4);
	if (version != TRACE_VERSION) {
		log_error(
			"%s has trace format %u, this playhead reads %u: use the playhead "
			"that recorded it",
			r->dir, version, TRACE_VERSION);
		return -EPROTONOSUPPORT;
	}
	if (len > n - 24)
		goto damaged;
	memcpy(&sum, r->meta_bytes + 16 + len, 8);
	if (sum == XXH3_64bits(r->meta_bytes, 16 + len) &&
	    !meta_decode(r->meta_bytes + 16, len, &r->meta))
		return 0;
damaged:
	log_error("%s: the trace is damaged: meta", r->dir);
	return -EBADMSG;
}

static int add_table(struct trace_reader *r, const void *p, size_t n)
{
	struct trace_file f = {0};
	struct ksym k = {0};
	int kind, err;

	err = table_decode(p, n, &kind, &f, &k.addr, &k.name);
	if (err)
		return err;
	if (kind == TABLE_FILE) {
		/* Ids are given in order from 1. */
		if (f.id != r->n_files + 1 || strstr(f.kept, "..") || f.kept[0] == '/')
			return -EBADMSG;
		err = array_reserve(&r->files, &r->cap_files, r->n_files + 1, sizeof(f));
		if (!err)
			r->files[r->n_files++] = f;
		return err;
	}
	err = array_reserve(&r->ksyms, &r->cap_ksyms, r->n_ksyms + 1, sizeof(k));
	if (!err)
		r->ksyms[r->n_ksyms++] = k;
	return err;
}

static int ksym_order(const void *a, const void *b)
{
	const struct ksym *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int read_tables(struct trace_reader *r)
{
	const void *p;
	struct rbuf b;
	size_t n;
	int err = slurp(r->dirfd, "tables", &r->table_bytes, &n);

	if (err)
		return err == -ENOENT ? 0 : err;
	b = rbuf_of(r->table_bytes, n);
	while (frame_next(&b, &p, &n) == 1) {
		err = add_table(r, p, n);
		if (err == -ENOMEM)
			return err;
		if (err)
			break;
	}
	if (r->n_ksyms)
		qsort(r->ksyms, r->n_ksyms, sizeof(*r->ksyms), ksym_order);
	return 0;
}

static void read_end(struct trace_reader *r)
{
	u64 events = stream_reader_count(r->events),
	    samples = stream_reader_count(r->samples);
	struct rbuf b;
	const void *p;
	size_t n;

	if (!slurp(r->dirfd, "end", &r->end_bytes, &n)) {
		b = rbuf_of(r->end_bytes, n);
		if (frame_next(&b, &p, &n) == 1 && !end_decode(p, n, &r->end) &&
		    r->end.events == events && r->end.samples == samples)
			return;
		r->end = (struct trace_end){.why = "the trace was cut or damaged"};
	} else {
		r->end.why = "recording was interrupted";
	}
	r->end.events = events;
	r->end.samples = samples;
}

/* When an interrupted recording's last event happened. */
static int find_end_time(struct trace_reader *r)
{
	const struct event *ev;
	struct trace_cursor *c;
	int err;

	if (r->end.time_ns || !r->end.events)
		return 0;
	err = trace_cursor_new(r, &c);
	if (err)
		return err;
	if (!trace_cursor_seek(c, r->end.events) && trace_cursor_next(c, &ev) == 1)
		r->end.time_ns = ev->time_ns;
	trace_cursor_free(c);
	return 0;
}

int trace_reader_open(struct trace_reader **out, const char *dir)
{
	struct trace_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	if (!realpath(dir, r->dir))
		snprintf(r->dir, sizeof(r->dir), "%s", dir);
	r->dirfd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dirfd < 0) {
		err = -errno;
		log_error("cannot open the trace %s: %s", dir, strerror(-err));
		goto fail;
	}
	err = read_meta(r);
	if (err)
		goto fail;
	err = read_tables(r);
	if (!err)
		err = stream_reader_open(&r->events, r->dirfd, "events");
	if (!err)
		err = stream_reader_open(&r->samples, r->dirfd, "samples");
	if (err) {
		log_error("%s: the trace is damaged: %s", r->dir, strerror(-err));
		goto fail;
	}
	read_end(r);
	err = find_end_time(r);
	if (err)
		goto fail;
	*out = r;
	return 0;
fail:
	trace_reader_free(r);
	return err;
}

void trace_reader_free(struct trace_reader *r)
{
	if (!r)
		return;
	stream_view_fini(&r->sample_view);
	stream_reader_free(r->events);
	stream_reader_free(r->samples);
	free(r->files);
	free(r->ksyms);
	free(r->meta_bytes);
	free(r->end_bytes);
	free(r->table_bytes);
	if (r->dirfd >= 0)
		close(r->dirfd);
	free(r);
}

const char *trace_reader_dir(const struct trace_reader *r)
{
	return r->dir;
}

const struct trace_meta *trace_reader_meta(const struct trace_reader *r)
{
	return &r->meta;
}

const struct trace_end *trace_reader_end(const struct trace_reader *r)
{
	return &r->end;
}

/* ---- cursors ---- */

int trace_cursor_new(struct trace_reader *r, struct trace_cursor **out)
{
	struct trace_cursor *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->r = r;
	c->next = 1;
	*out = c;
	return 0;
}

void trace_cursor_free(struct trace_cursor *c)
{
	if (!c)
		return;
	stream_view_fini(&c->view);
	event_store_fini(&c->store);
	free(c);
}

int trace_cursor_next(struct trace_cursor *c, const struct event **ev)
{
	const void *p;
	size_t n;
	int err;

	if (c->next > c->r->end.events)
		return 0;
	err = stream_view_load(&c->view, c->r->events, c->next);
	if (err)
		return err;
	p = stream_view_get(&c->view, c->next, &n);
	c->ev.number = c->next;
	err = event_decode(p, n, &c->ev, &c->store);
	if (err) {
		log_error("the trace is damaged: event %lu cannot be decoded", c->next);
		return err;
	}
	c->next++;
	*ev = &c->ev;
	return 1;
}

int trace_cursor_seek(struct trace_cursor *c, u64 number)
{
	if (!number || number > c->r->end.events + 1)
		return -ERANGE;
	c->next = number;
	return 0;
}

/* ---- samples, files, symbols ---- */

u64 trace_reader_samples(const struct trace_reader *r)
{
	return r->end.samples;
}

int trace_reader_sample(struct trace_reader *r, u64 number, const struct sample **s)
{
	const void *p;
	size_t n;
	int err = stream_view_load(&r->sample_view, r->samples, number);

	if (err)
		return err;
	p = stream_view_get(&r->sample_view, number, &n);
	err = sample_decode(p, n, &r->sample);
	if (err) {
		log_error("the trace is damaged: sample %lu cannot be decoded", number);
		return err;
	}
	r->sample.number = number;
	*s = &r->sample;
	return 0;
}

const struct trace_file *trace_reader_file(struct trace_reader *r, u32 id)
{
	return id && id <= r->n_files ? &r->files[id - 1] : NULL;
}

int trace_reader_file_path(struct trace_reader *r, u32 id, char *out, size_t n)
{
	const struct trace_file *f = trace_reader_file(r, id);

	if (!f || !f->kept[0])
		return -ENOENT;
	if ((size_t)snprintf(out, n, "%s/%s", r->dir, f->kept) >= n)
		return -ENAMETOOLONG;
	return 0;
}

const char *trace_reader_ksym(struct trace_reader *r, u64 addr)
{
	const struct ksym key = {.addr = addr}, *k;

	if (!r->n_ksyms)
		return NULL;
	k = bsearch(&key, r->ksyms, r->n_ksyms, sizeof(*k), ksym_order);
	return k ? k->name : NULL;
}
