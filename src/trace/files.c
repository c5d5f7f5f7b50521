/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "trace/files.h"

struct kept {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
	char *name;
	char path[24];
	bool linked; /* by hard link: it is the file */
};

struct files {
	int dirfd;
	time_t begun;
	struct kept *v;
	size_t n, cap;
};

int files_new(struct files **out, int dirfd)
{
	struct files *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->dirfd = dirfd;
	f->begun = time(NULL);
	if (mkdirat(dirfd, "files", 0700) && errno != EEXIST) {
		free(f);
		return -errno;
	}
	*out = f;
	return 0;
}

void files_free(struct files *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].name);
	free(f->v);
	free(f);
}

/*
 * A hard link shows whatever is later written into the file. Packages replace
 * their files by rename, so what lies in the system's folders and what nobody
 * may write is safe; everything else is copied.
 */
static bool link_is_safe(const char *name, const struct stat *st)
{
	static const char *const dirs[] = {"/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/"};

	if (!(st->st_mode & 0222))
		return true;
	if (!strncmp(name, "/usr/local/", 11))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (!strncmp(name, dirs[i], strlen(dirs[i])))
			return true;
	return false;
}

/* By hand: across filesystems and for special ones. */
static int copy_bytes(int from, int to, off_t at, off_t end)
{
	char buf[65536];

	while (at < end) {
		ssize_t got = pread(from, buf, MIN((off_t)sizeof(buf), end - at), at);

		if (got <= 0)
			return got ? -errno : 0;
		for (ssize_t done = 0; done < got;) {
			ssize_t put = pwrite(to, buf + done, got - done, at + done);

			if (put < 0)
				return -errno;
			done += put;
		}
		at += got;
	}
	return 0;
}

static int copy_range(int from, int to, off_t at, off_t end)
{
	while (at < end) {
		off_t in = at, out = at;
		ssize_t got = copy_file_range(from, &in, to, &out, end - at, 0);

		if (got <= 0)
			return copy_bytes(from, to, at, end);
		at += got;
	}
	return 0;
}

/* Holes stay holes: a database file may be all of them. */
static int copy_data(int from, int to, off_t size)
{
	int err = 0;

	for (off_t at = 0; at < size && !err;) {
		off_t data = lseek(from, at, SEEK_DATA), hole;

		if (data < 0 && errno == ENXIO)
			break;
		if (data < 0)
			data = at;
		hole = lseek(from, data, SEEK_HOLE);
		if (hole <= data || hole > size)
			hole = size;
		err = copy_range(from, to, data, hole);
		at = hole;
	}
	if (!err && ftruncate(to, size))
		err = -errno;
	return err;
}

static int keep_data(struct files *f, int fd, const char *name, const struct stat *st,
		     struct kept *k)
{
	const char *path = k->path;
	char self[32];
	int to, err;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	to = openat(f->dirfd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	if (!ioctl(to, FICLONE, fd)) {
		close(to);
		return 0;
	}
	if (link_is_safe(name, st)) {
		if (!unlinkat(f->dirfd, path, 0) &&
		    !linkat(AT_FDCWD, self, f->dirfd, path, AT_SYMLINK_FOLLOW)) {
			close(to);
			k->linked = true;
			return 0;
		}
		close(to);
		to = openat(f->dirfd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (to < 0)
			return -errno;
	}
	err = copy_data(fd, to, st->st_size);
	close(to);
	return err;
}

/*
 * Can the file have been written without its mtime telling? A store through a
 * shared mapping sets it once, when the page becomes dirty, and not again
 * until it was written back (30 s by default); on tmpfs never.
 */
static bool is_settled(const struct files *f, int fd, const struct stat *st)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) || fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		return false;
	return st->st_mtim.tv_sec < f->begun - 60;
}

static bool same_data(const struct files *f, const struct kept *k, int fd)
{
	char a[32768], b[32768];
	int copy = openat(f->dirfd, k->path, O_RDONLY | O_CLOEXEC);
	bool same = copy >= 0;

	for (off_t at = 0; same && at < k->size;) {
		ssize_t n = pread(fd, a, sizeof(a), at), m = pread(copy, b, sizeof(b), at);

		same = n > 0 && n == m && !memcmp(a, b, n);
		at += n;
	}
	if (copy >= 0)
		close(copy);
	return same;
}

static struct kept *find(struct files *f, int fd, const struct stat *st)
{
	for (size_t i = f->n; i-- > 0;) {
		struct kept *k = &f->v[i];

		if (k->dev != st->st_dev || k->ino != st->st_ino ||
		    k->size != st->st_size || k->mtime.tv_sec != st->st_mtim.tv_sec ||
		    k->mtime.tv_nsec != st->st_mtim.tv_nsec)
			continue;
		if (!k->path[0] || k->linked || is_settled(f, fd, st) ||
		    same_data(f, k, fd))
			return k;
	}
	return NULL;
}

int files_keep(struct files *f, int fd, const char *name, struct trace_file *out)
{
	struct stat st;
	struct kept *k;
	int err, fresh = 0;

	if (fstat(fd, &st))
		return -errno;
	k = find(f, fd, &st);
	if (!k) {
		err = array_reserve(&f->v, &f->cap, f->n + 1, sizeof(*k));
		if (err)
			return err;
		k = &f->v[f->n];
		*k = (struct kept){.dev = st.st_dev,
				   .ino = st.st_ino,
				   .size = st.st_size,
				   .mtime = st.st_mtim,
				   .name = strdup(name)};
		if (!k->name)
			return -ENOMEM;
		snprintf(k->path, sizeof(k->path), "files/%zu", f->n + 1);
		/* Devices (/dev/zero and the like) have no contents to keep. */
		err = S_ISREG(st.st_mode) ? keep_data(f, fd, name, &st, k) : 0;
		if (err) {
			unlinkat(f->dirfd, k->path, 0);
			free(k->name);
			return err;
		}
		if (!S_ISREG(st.st_mode))
			k->path[0] = '\0';
		f->n++;
		fresh = 1;
	}
	*out = (struct trace_file){.id = k - f->v + 1,
				   .mode = st.st_mode,
				   .size = st.st_size,
				   .dev = st.st_dev,
				   .ino = st.st_ino,
				   .name = k->name,
				   .kept = k->path};
	return fresh;
}
