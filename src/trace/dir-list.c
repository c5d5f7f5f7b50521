/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "trace/trace.h"

struct found {
	char *path;
	struct timespec born; /* of meta, which is written once */
};

struct found_list {
	struct found *v;
	size_t n, cap;
};

static void found_list_fini(struct found_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].path);
	free(l->v);
}

static bool is_trace(const char *path, struct timespec *born)
{
	char meta[PATH_MAX];
	struct stat st;

	if ((size_t)snprintf(meta, sizeof(meta), "%s/meta", path) >= sizeof(meta) ||
	    stat(meta, &st) || !S_ISREG(st.st_mode))
		return false;
	*born = st.st_mtim;
	return true;
}

static int by_birth(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->born.tv_sec != y->born.tv_sec)
		return x->born.tv_sec < y->born.tv_sec ? -1 : 1;
	if (x->born.tv_nsec != y->born.tv_nsec)
		return x->born.tv_nsec < y->born.tv_nsec ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int collect(struct found_list *l, const char *home)
{
	struct timespec born;
	struct dirent *d;
	char path[PATH_MAX];
	int err = 0;
	DIR *dir = opendir(home);

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (!err && (d = readdir(dir))) {
		if (d->d_name[0] == '.' || !strcmp(d->d_name, "latest"))
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", home, d->d_name) >=
			    sizeof(path) ||
		    !is_trace(path, &born))
			continue;
		err = array_reserve(&l->v, &l->cap, l->n + 1, sizeof(*l->v));
		if (err)
			break;
		l->v[l->n].path = strdup(path);
		l->v[l->n].born = born;
		err = l->v[l->n].path ? 0 : -ENOMEM;
		l->n += !err;
	}
	closedir(dir);
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_birth);
	return err;
}

int trace_dir_each(int (*fn)(void *ctx, const char *path, bool latest), void *ctx)
{
	char home[PATH_MAX], link[PATH_MAX], latest[PATH_MAX] = "";
	struct found_list l = {0};
	ssize_t n;
	int err;

	err = trace_home(home, sizeof(home));
	if (err)
		return err;
	err = collect(&l, home);
	if (err)
		log_error("cannot list %s: %s", home, strerror(-err));
	if ((size_t)snprintf(link, sizeof(link), "%s/latest", home) < sizeof(link)) {
		n = readlink(link, latest, sizeof(latest) - 1);
		latest[n > 0 ? n : 0] = '\0';
	}
	for (size_t i = 0; i < l.n && !err; i++)
		err = fn(ctx, l.v[i].path, !strcmp(strrchr(l.v[i].path, '/') + 1, latest));
	found_list_fini(&l);
	return err;
}

bool trace_dir_is_live(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool live;

	if (fd < 0)
		return false;
	/* The lock goes with its recorder, however that ends. */
	live = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	close(fd);
	return live;
}

static int unlink_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path) ? -errno : 0;
}

/* After a removal: the newest of those left, or no link. */
static void mend_latest(const char *dir)
{
	char link[PATH_MAX], tmp[PATH_MAX];
	struct found_list l = {0};
	struct stat st;

	if ((size_t)snprintf(link, sizeof(link), "%s/latest", dir) >= sizeof(link) ||
	    (size_t)snprintf(tmp, sizeof(tmp), "%s/.latest.%d", dir, getpid()) >=
		    sizeof(tmp))
		return;
	if (lstat(link, &st) || !S_ISLNK(st.st_mode) || !stat(link, &st))
		return;
	unlink(link);
	if (!collect(&l, dir) && l.n && !symlink(strrchr(l.v[l.n - 1].path, '/') + 1, tmp))
		if (rename(tmp, link))
			unlink(tmp);
	found_list_fini(&l);
}

int trace_dir_remove(const char *path)
{
	char real[PATH_MAX];
	struct timespec born;
	int err;

	if (!realpath(path, real))
		return -errno;
	if (!is_trace(real, &born))
		return -EINVAL;
	if (trace_dir_is_live(real))
		return -EBUSY;
	err = nftw(real, unlink_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	if (err)
		return err < -1 ? err : -errno;
	*strrchr(real, '/') = '\0';
	mend_latest(real[0] ? real : "/");
	return 0;
}

static __thread u64 sum;

static int add_size(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	/* What is hard linked into the trace takes no room of its own. */
	if (flag == FTW_F && st->st_nlink == 1)
		sum += (u64)st->st_blocks * 512;
	return 0;
}

u64 trace_dir_size(const char *path)
{
	sum = 0;
	if (nftw(path, add_size, 16, FTW_PHYS))
		return 0;
	return sum;
}
