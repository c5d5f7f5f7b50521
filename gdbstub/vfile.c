/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * vfile.c - the host's files, read only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "gdbstub/private.h"

/* File-I/O has error numbers of its own, equal to Linux's up to here. */
#define FIO_EUNKNOWN 9999

static int put_failure(struct wbuf *out, int err)
{
	put_fmt(out, "F-1,%x", -err <= EROFS ? -err : FIO_EUNKNOWN);
	return 0;
}

static void file_free(struct gdb_file *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	wbuf_free(&f->mem);
	free(f);
}

void files_close(struct gdbstub *s)
{
	for (size_t i = 0; i < STUB_MAX_FILES; i++) {
		file_free(s->cl.files[i]);
		s->cl.files[i] = NULL;
	}
}

static struct gdb_file *file_of(struct gdbstub *s, u64 fd)
{
	return fd < STUB_MAX_FILES ? s->cl.files[fd] : NULL;
}

int pk_file_setfs(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	if (!s->t->open)
		return -ENOSYS;
	put_str(out, "F0"); /* every process sees the same files */
	return 0;
}

static int name_of(struct args *a)
{
	wbuf_u8(&a->bytes, 0);
	return a->bytes.err;
}

int pk_file_open(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct gdb_file *f;
	size_t slot = 0;
	int r;

	if (!s->t->open)
		return -ENOSYS;
	if (a->n[0] & 3) /* the access mode bits: anything but O_RDONLY */
		return put_failure(out, -EROFS);
	while (slot < STUB_MAX_FILES && s->cl.files[slot])
		slot++;
	if (slot == STUB_MAX_FILES)
		return put_failure(out, -EMFILE);
	r = name_of(a);
	if (r < 0)
		return r;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->fd = -1;
	r = s->t->open(s->t->ctx, (const char *)a->bytes.data, f);
	if (r < 0) {
		file_free(f);
		return put_failure(out, r);
	}
	s->cl.files[slot] = f;
	put_fmt(out, "F%zx", slot);
	return 0;
}

int pk_file_pread(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct gdb_file *f = file_of(s, a->n[0]);
	size_t n = MIN(a->n[1], (u64)READ_PIECE_MAX);
	u64 at = a->n[2];
	ssize_t got;
	u8 *buf;

	if (!f)
		return put_failure(out, -EBADF);
	buf = malloc(n + 1);
	if (!buf)
		return -ENOMEM;
	if (f->fd >= 0) {
		got = at > INT64_MAX ? 0 : pread(f->fd, buf, n, at);
		if (got < 0)
			got = -errno;
	} else {
		got = at >= f->mem.len ? 0 : MIN(n, f->mem.len - at);
		memcpy(buf, f->mem.data + (got ? at : 0), got);
	}
	if (got < 0) {
		put_failure(out, got);
	} else {
		put_fmt(out, "F%zx;", (size_t)got);
		wbuf_bytes(out, buf, got);
	}
	free(buf);
	return 0;
}

int pk_file_close(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct gdb_file *f = file_of(s, a->n[0]);

	if (!f)
		return put_failure(out, -EBADF);
	file_free(f);
	s->cl.files[a->n[0]] = NULL;
	put_str(out, "F0");
	return 0;
}

/* The stat of the File-I/O protocol: big-endian, its own layout. */
static void put_be(struct wbuf *b, u64 v, unsigned bytes)
{
	while (bytes--)
		wbuf_u8(b, v >> 8 * bytes);
}

int pk_file_fstat(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct gdb_file *f = file_of(s, a->n[0]);
	u64 size;

	if (!f)
		return put_failure(out, -EBADF);
	size = f->fd >= 0 ? f->st.size : f->mem.len;
	put_fmt(out, "F%x;", 64);
	put_be(out, f->st.dev, 4);
	put_be(out, f->st.ino, 4);
	put_be(out, f->st.mode, 4);
	put_be(out, 1, 4); /* nlink */
	put_be(out, 0, 4); /* uid */
	put_be(out, 0, 4); /* gid */
	put_be(out, 0, 4); /* rdev */
	put_be(out, size, 8);
	put_be(out, PAGE_BYTES, 8);	    /* blksize */
	put_be(out, (size + 511) / 512, 8); /* blocks */
	put_be(out, 0, 4);		    /* atime, mtime, ctime */
	put_be(out, 0, 4);
	put_be(out, 0, 4);
	return 0;
}

int pk_file_readlink(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct wbuf target = {0};
	int r;

	if (!s->t->readlink)
		return -ENOSYS;
	r = name_of(a);
	if (r < 0)
		return r;
	r = s->t->readlink(s->t->ctx, (const char *)a->bytes.data, &target);
	if (!r)
		r = target.err;
	if (r < 0) {
		put_failure(out, r);
	} else {
		put_fmt(out, "F%zx;", target.len);
		wbuf_bytes(out, target.data, target.len);
	}
	wbuf_free(&target);
	return 0;
}

int pk_file_refuse(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	return put_failure(out, -EROFS);
}
