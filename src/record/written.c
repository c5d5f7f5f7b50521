/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * written.c - a file that is mapped shared was written by a call: what the
 * mapping shows has changed without the program's doing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "record/internal.h"

/* The number after @key in /proc/TID/fdinfo/FD. */
static bool fdinfo(pid_t tid, int fd, const char *key, u64 *out)
{
	char path[64], line[256];
	size_t n = strlen(key);
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", tid, fd);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, n) || line[n] != ':')
			continue;
		*out = strtoull(line + n + 1, NULL, strcmp(key, "flags") ? 10 : 8);
		found = true;
	}
	if (f)
		fclose(f);
	return found;
}

bool program_can_write(pid_t tid, int fd)
{
	u64 flags = 0;

	return fdinfo(tid, fd, "flags", &flags) && (flags & O_ACCMODE) == O_RDWR;
}

static bool is_shared(struct session *s, const struct stat *st)
{
	for (size_t i = 0; i < s->n_shared; i++)
		if (s->shared[i].dev == st->st_dev && s->shared[i].ino == st->st_ino)
			return true;
	return false;
}

/* The mapped parts of the file's bytes [from, to). */
static void changed(struct session *s, struct task *t, const struct stat *st, u64 from,
		    u64 to)
{
	u64 start, end, off, lo, hi, ino;
	char path[40], line[512], prot[8];
	unsigned int maj, min;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", t->tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu", &start, &end, prot, &off,
			   &maj, &min, &ino) != 7)
			continue;
		if (ino != st->st_ino || makedev(maj, min) != st->st_dev || prot[3] != 's')
			continue;
		lo = MAX(from, off);
		hi = MIN(to, off + (end - start));
		if (lo < hi && effects_mem(&s->fx, start + lo - off, hi - lo))
			s->fx.data.err = -ENOMEM;
	}
	if (f)
		fclose(f);
}

/*
 * One mapping of a file that now has @size bytes. The part before the new end
 * is mapped anew: it may have been cut off before.
 */
static void resized(struct session *s, u64 start, u64 end, u32 prot, u64 off, u64 size,
		    u32 share)
{
	u64 inside = PAGE_UP(size) > off ? MIN(PAGE_UP(size) - off, end - start) : 0;
	struct effect *e;

	if (share && inside) {
		e = add_map(s, start, inside, prot, MAP_SHARED);
		if (e) {
			e->map.share = share;
			e->map.offset = off;
		}
		if (effects_mem(&s->fx, start, inside))
			s->fx.data.err = -ENOMEM;
	}
	if (inside < end - start)
		map_beyond(s, start + inside, end - start - inside, prot);
}

static void cut(struct session *s, struct task *t, const struct stat *st)
{
	u64 start, end, off, ino;
	char path[40], line[512], prot[8];
	unsigned int maj, min;
	bool fresh;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", t->tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu", &start, &end, prot, &off,
			   &maj, &min, &ino) != 7)
			continue;
		if (ino != st->st_ino || makedev(maj, min) != st->st_dev)
			continue;
		resized(s, start, end,
			(prot[0] == 'r' ? PROT_READ : 0) |
				(prot[1] == 'w' ? PROT_WRITE : 0) |
				(prot[2] == 'x' ? PROT_EXEC : 0),
			off, st->st_size,
			prot[3] == 's' ? share_id(s, st->st_dev, st->st_ino, &fresh) : 0);
	}
	if (f)
		fclose(f);
}

void hook_file_written(struct session *s, struct task *t, s64 ret)
{
	const u64 *arg = t->call.view.arg;
	char path[64];
	struct stat st;
	u64 pos = 0;

	if (ret < 0 || (!s->n_shared && t->call.view.nr != SYS_ftruncate))
		return;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->tid, (int)arg[0]);
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	if (t->call.view.nr == SYS_ftruncate) {
		cut(s, t, &st);
		return;
	}
	if (!is_shared(s, &st))
		return;
	switch (t->call.view.nr) {
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
		pos = arg[3];
		break;
	default:
		if (!fdinfo(t->tid, arg[0], "pos", &pos))
			return;
		pos -= MIN(pos, (u64)ret);
	}
	changed(s, t, &st, pos, pos + ret);
}
