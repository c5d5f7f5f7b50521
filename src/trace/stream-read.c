/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/log.h"
#include "trace/stream.h"

struct stream_reader {
	int fd;
	char name[16];
	struct block *blocks;
	size_t n_blocks, cap_blocks;
	u64 packed_count; /* records in blocks */
	u8 *tail;	  /* whole framed records after them */
	u32 tail_len, tail_count;
};

static int read_index(struct stream_reader *s)
{
	u8 head[BLOCK_BYTES];
	struct stat st;
	struct block b;
	u64 at = 0;
	int err;

	if (fstat(s->fd, &st))
		return -errno;
	while (pread(s->fd, head, sizeof(head), at) == sizeof(head)) {
		if (block_decode(head, &b) || b.first != s->packed_count + 1)
			break;
		b.offset = at + BLOCK_BYTES;
		if (b.offset + b.packed_len > (u64)st.st_size)
			break;
		err = array_reserve(&s->blocks, &s->cap_blocks, s->n_blocks + 1, sizeof(b));
		if (err)
			return err;
		s->blocks[s->n_blocks++] = b;
		s->packed_count += b.count;
		at = b.offset + b.packed_len;
	}
	return 0;
}

/* Keep what is whole of the tail, if it goes on where the blocks end. */
static int read_tail(struct stream_reader *s, int dirfd)
{
	char path[32];
	struct tail head;
	struct rbuf r;
	const void *p;
	size_t n;
	ssize_t got;
	u32 count;
	int fd;

	snprintf(path, sizeof(path), "%s.tail", s->name);
	fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) || head.magic != TAIL_MAGIC ||
	    head.first != s->packed_count + 1 || (u32)head.committed > TAIL_BYTES)
		goto out;
	s->tail = malloc(TAIL_BYTES);
	if (!s->tail) {
		close(fd);
		return -ENOMEM;
	}
	got = pread(fd, s->tail, (u32)head.committed, sizeof(head));
	if (got <= 0)
		goto out;
	r = rbuf_of(s->tail, got);
	for (count = head.committed >> 32; count && frame_next(&r, &p, &n) == 1; count--) {
		s->tail_count++;
		s->tail_len = r.p - s->tail;
	}
out:
	close(fd);
	return 0;
}

int stream_reader_open(struct stream_reader **out, int dirfd, const char *name)
{
	struct stream_reader *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	err = s->fd < 0 ? -errno : read_index(s);
	if (!err)
		err = read_tail(s, dirfd);
	if (err) {
		stream_reader_free(s);
		return err;
	}
	*out = s;
	return 0;
}

void stream_reader_free(struct stream_reader *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s->blocks);
	free(s->tail);
	free(s);
}

u64 stream_reader_count(const struct stream_reader *s)
{
	return s->packed_count + s->tail_count;
}

void stream_view_fini(struct stream_view *v)
{
	free(v->raw);
	free(v->starts);
	*v = (struct stream_view){0};
}

static const struct block *find_block(const struct stream_reader *s, u64 number)
{
	size_t lo = 0, hi = s->n_blocks;

	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;

		if (s->blocks[mid].first <= number)
			lo = mid;
		else
			hi = mid;
	}
	return &s->blocks[lo];
}

static int unpack(struct stream_view *v, struct stream_reader *s, const struct block *b)
{
	u8 *packed = malloc(b->packed_len);
	int err = -ENOMEM;
	size_t got;

	/* The zstd frame names its own size: do not allocate on the word of the
	 * block header alone. */
	if (!packed)
		return -ENOMEM;
	if (pread(s->fd, packed, b->packed_len, b->offset) != (ssize_t)b->packed_len ||
	    XXH3_64bits(packed, b->packed_len) != b->hash ||
	    ZSTD_getFrameContentSize(packed, b->packed_len) != b->raw_len) {
		err = -EBADMSG;
		goto out;
	}
	v->raw = malloc(b->raw_len);
	if (!v->raw)
		goto out;
	got = ZSTD_decompress(v->raw, b->raw_len, packed, b->packed_len);
	err = got == b->raw_len ? 0 : -EBADMSG;
	v->first = b->first;
	v->count = b->count;
out:
	free(packed);
	return err;
}

static int find_starts(struct stream_view *v, size_t len)
{
	struct rbuf r = rbuf_of(v->raw, len);
	const void *p;
	size_t n;

	v->starts = malloc((v->count + 1UL) * sizeof(*v->starts));
	if (!v->starts)
		return -ENOMEM;
	for (u32 i = 0; i < v->count; i++) {
		v->starts[i] = r.p - v->raw;
		if (frame_next(&r, &p, &n) != 1)
			return -EBADMSG;
	}
	v->starts[v->count] = r.p - v->raw;
	return rbuf_left(&r) ? -EBADMSG : 0;
}

int stream_view_load(struct stream_view *v, struct stream_reader *s, u64 number)
{
	const struct block *b = NULL;
	size_t len;
	int err;

	if (!number || number > stream_reader_count(s))
		return -ERANGE;
	if (v->raw && number >= v->first && number < v->first + v->count)
		return 0;
	stream_view_fini(v);
	if (number <= s->packed_count) {
		b = find_block(s, number);
		len = b->raw_len;
		err = unpack(v, s, b);
	} else {
		len = s->tail_len;
		v->first = s->packed_count + 1;
		v->count = s->tail_count;
		v->raw = malloc(len);
		err = v->raw ? 0 : -ENOMEM;
		if (!err)
			memcpy(v->raw, s->tail, len);
	}
	if (!err)
		err = find_starts(v, len);
	if (err) {
		if (err == -EBADMSG)
			log_error("the trace is damaged: %s, block of record %lu", s->name,
				  b ? b->first : number);
		stream_view_fini(v);
	}
	return err;
}

const void *stream_view_get(const struct stream_view *v, u64 number, size_t *n)
{
	u64 at = v->starts[number - v->first];

	*n = v->starts[number - v->first + 1] - at - FRAME_BYTES;
	return v->raw + at + FRAME_BYTES;
}
