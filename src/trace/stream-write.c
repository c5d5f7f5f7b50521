/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/log.h"
#include "trace/stream.h"

struct stream_writer {
	int fd;
	u64 size;  /* of whole blocks in fd */
	u64 count; /* records appended */
	int err;   /* sticks */
	struct tail *tail;
	u32 used, n_tail; /* bytes and records in the tail */
	ZSTD_CCtx *zstd;
	u8 *packed;
	size_t cap_packed;
	char name[16];
};

static int map_tail(struct stream_writer *s, int dirfd)
{
	char path[32];
	size_t len = sizeof(struct tail) + TAIL_BYTES;
	int fd, err;
	void *p;

	snprintf(path, sizeof(path), "%s.tail", s->name);
	fd = openat(dirfd, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = -posix_fallocate(fd, 0, len);
	if (!err) {
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			err = -errno;
		else
			s->tail = p;
	}
	close(fd);
	if (err)
		return err;
	s->tail->first = 1;
	s->tail->committed = 0;
	s->tail->magic = TAIL_MAGIC;
	return 0;
}

static void stream_writer_free(struct stream_writer *s)
{
	ZSTD_freeCCtx(s->zstd);
	free(s->packed);
	if (s->tail)
		munmap(s->tail, sizeof(struct tail) + TAIL_BYTES);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

int stream_writer_new(struct stream_writer **out, int dirfd, const char *name)
{
	struct stream_writer *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return -ENOMEM;
	s->fd = -1;
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->zstd = ZSTD_createCCtx();
	if (!s->zstd)
		goto fail;
	ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, 1);
	s->fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	err = s->fd < 0 ? -errno : map_tail(s, dirfd);
	if (err)
		goto fail;
	*out = s;
	return 0;
fail:
	stream_writer_free(s);
	return err;
}

static int write_all(int fd, struct iovec *iov, int n)
{
	while (n) {
		ssize_t got = writev(fd, iov, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		while (n && (size_t)got >= iov->iov_len) {
			got -= iov->iov_len;
			iov++;
			n--;
		}
		if (n) {
			iov->iov_base = (char *)iov->iov_base + got;
			iov->iov_len -= got;
		}
	}
	return 0;
}

static int write_block(struct stream_writer *s, const void *raw, size_t len, u32 count,
		       u64 first)
{
	size_t bound = ZSTD_compressBound(len), packed;
	struct block b = {.raw_len = len, .count = count, .first = first};
	u8 head[BLOCK_BYTES];
	struct iovec iov[2];
	int err;

	if (len > BLOCK_RAW_MAX)
		return -EFBIG;
	err = array_reserve(&s->packed, &s->cap_packed, bound, 1);
	if (err)
		return err;
	packed = ZSTD_compress2(s->zstd, s->packed, s->cap_packed, raw, len);
	if (ZSTD_isError(packed))
		return -EIO;
	b.packed_len = packed;
	b.hash = XXH3_64bits(s->packed, packed);
	block_encode(head, &b);
	iov[0] = (struct iovec){head, sizeof(head)};
	iov[1] = (struct iovec){s->packed, packed};
	err = write_all(s->fd, iov, 2);
	if (err) {
		/* No half block stays behind: the tail still has the records. */
		if (ftruncate(s->fd, s->size))
			log_warn("%s: cannot cut back a half-written block", s->name);
		return err;
	}
	s->size += BLOCK_BYTES + packed;
	return 0;
}

static int flush_tail(struct stream_writer *s)
{
	int err;

	if (!s->n_tail)
		return 0;
	err = write_block(s, s->tail->data, s->used, s->n_tail, s->tail->first);
	if (err)
		return err;
	/* A reader takes a tail only if it begins where the blocks end, so
	 * dying between these two stores loses nothing and repeats nothing. */
	__atomic_store_n(&s->tail->committed, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&s->tail->first, s->count + 1, __ATOMIC_RELEASE);
	s->used = 0;
	s->n_tail = 0;
	return 0;
}

int stream_writer_put(struct stream_writer *s, const struct wbuf *framed)
{
	if (!s->err && framed->err)
		s->err = framed->err;
	if (!s->err && s->used + framed->len > TAIL_BYTES)
		s->err = flush_tail(s);
	if (s->err)
		return s->err;
	if (framed->len > TAIL_BYTES) {
		s->err = write_block(s, framed->data, framed->len, 1, s->count + 1);
		if (!s->err) {
			s->count++;
			s->tail->first = s->count + 1;
		}
		return s->err;
	}
	memcpy(s->tail->data + s->used, framed->data, framed->len);
	s->used += framed->len;
	s->n_tail++;
	s->count++;
	__atomic_store_n(&s->tail->committed, (u64)s->n_tail << 32 | s->used,
			 __ATOMIC_RELEASE);
	return 0;
}

u64 stream_writer_count(const struct stream_writer *s)
{
	return s->count;
}

int stream_writer_close(struct stream_writer *s)
{
	int err;

	if (!s)
		return 0;
	err = s->err ? s->err : flush_tail(s);
	stream_writer_free(s);
	return err;
}
