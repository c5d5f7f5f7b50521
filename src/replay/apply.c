/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * apply.c - do to a replayed process what an event did to the recorded one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "replay/replay.h"

static int call(struct space *s, s64 *ret, long nr, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4,
		u64 a5)
{
	int err = tracee_syscall(s->host, ret, nr, a0, a1, a2, a3, a4, a5);

	/* It put the host's registers back, not those that wait to be set. */
	if (!err && *ret < 0 && *ret > -4096)
		err = (int)*ret;
	return err;
}

/* Open @path in the host; the fd is its. */
static int host_open(struct space *s, const char *path, int flags, s64 *fd)
{
	int err = tracee_write(s->host, AGENT_DATA, path, strlen(path) + 1);

	if (!err)
		err = call(s, fd, SYS_openat, AT_FDCWD, AGENT_DATA, flags | O_CLOEXEC, 0, 0,
			   0);
	return err;
}

static int host_map(struct space *s, u64 addr, u64 len, u32 prot, u32 flags,
		    const char *path, int how, u64 offset)
{
	s64 fd = -1, ret;
	int err = 0, err2;

	if (path)
		err = host_open(s, path, how, &fd);
	if (err)
		return err;
	err = call(s, &ret, SYS_mmap, addr, len, prot, flags | MAP_FIXED | MAP_NORESERVE,
		   fd, offset);
	if (path) {
		err2 = call(s, &ret, SYS_close, fd, 0, 0, 0, 0, 0);
		if (!err)
			err = err2;
	}
	return err;
}

int apply_map_share(struct world *w, struct space *s, const struct map *m)
{
	struct share *sh = world_share(w, m->share);
	u64 len = m->end - m->start;
	char path[48];
	int err;

	if (!sh) {
		err = world_add_share(w, m->share, &sh);
		if (err)
			return err;
	}
	if (sh->size < m->offset + len) {
		if (ftruncate(sh->fd, m->offset + len))
			return -errno;
		sh->size = m->offset + len;
	}
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), sh->fd);
	return host_map(s, m->start, len, m->prot, MAP_SHARED, path, O_RDWR, m->offset);
}

/* A kept file that cannot be mapped (a folder mounted noexec): its bytes. */
static int map_by_copy(struct space *s, const struct effect *e, const char *path)
{
	u64 done = 0;
	int err, fd;

	err = host_map(s, e->addr, e->len, e->map.prot, MAP_PRIVATE | MAP_ANONYMOUS, NULL,
		       0, 0);
	if (err)
		return err;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (!err && done < e->len) {
		static u8 buf[1 << 16];
		ssize_t n = pread(fd, buf, MIN(sizeof(buf), e->len - done),
				  e->map.offset + done);

		if (n < 0)
			err = -errno;
		if (n <= 0)
			break;
		err = tracee_write(s->host, e->addr + done, buf, n);
		done += n;
	}
	close(fd);
	return err;
}

/*
 * The stack of a program is recorded as large as its limit lets it grow: the
 * limit of the replaying process must not let it grow further.
 */
static u32 grows(const struct effect *e)
{
	bool stack = e->map.name && !strcmp(e->map.name, "[stack]");

	return stack ? 0 : e->map.flags & MAP_GROWSDOWN;
}

static int apply_map(struct timeline *t, struct space *s, const struct effect *e)
{
	char path[4096];
	int err;

	if (e->map.share) {
		struct map m = {.start = e->addr,
				.end = e->addr + e->len,
				.prot = e->map.prot,
				.offset = e->map.offset,
				.share = e->map.share};

		return apply_map_share(t->now, s, &m);
	}
	if (!e->map.file)
		return host_map(s, e->addr, e->len, e->map.prot,
				MAP_PRIVATE | MAP_ANONYMOUS | grows(e), NULL, 0, 0);
	err = trace_reader_file_path(t->reader, e->map.file, path, sizeof(path));
	if (err) {
		log_error("file %u of the trace is not there", e->map.file);
		return err;
	}
	err = host_map(s, e->addr, e->len, e->map.prot, MAP_PRIVATE, path, O_RDONLY,
		       e->map.offset);
	if (err == -EPERM || err == -EACCES)
		err = map_by_copy(s, e, path);
	return err;
}

/*
 * A write of the kernel may lie below what the stack has grown to so far (a
 * signal frame): no access of the supervisor grows it, so map what is missing.
 */
static int grow_stack(struct space *s, u64 addr)
{
	const struct map *m = NULL;
	char line[512], path[32];
	u64 start, end, top = 0;
	FILE *f;

	for (size_t i = 0; i < s->maps.n; i++)
		if ((s->maps.v[i].flags & MAP_GROWSDOWN) && s->maps.v[i].end > addr) {
			m = &s->maps.v[i];
			break;
		}
	if (!m)
		return -EFAULT;
	snprintf(path, sizeof(path), "/proc/%d/maps", s->host);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (!top && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && end > addr)
			top = start;
	fclose(f);
	if (top <= addr || top > m->start)
		return -EFAULT;
	return host_map(s, PAGE_DOWN(addr), top - PAGE_DOWN(addr), m->prot,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, NULL, 0, 0);
}

/* Shared memory that the program maps without write permission. */
static int write_shares(struct world *w, struct space *s, u64 addr, const u8 *data,
			size_t n)
{
	while (n) {
		const struct map *m = maps_find(&s->maps, addr);
		struct share *sh = m && m->share ? world_share(w, m->share) : NULL;
		size_t part = m ? MIN(n, m->end - addr) : 0;
		int err = 0;

		if (sh) {
			u64 at = m->offset + (addr - m->start);

			if (pwrite(sh->fd, data, part, at) != (ssize_t)part)
				return -EIO;
		} else if (m) {
			err = space_write(s, addr, data, part);
		} else {
			err = -EFAULT;
		}
		if (err)
			return err;
		addr += part;
		data += part;
		n -= part;
	}
	return 0;
}

static int apply_mem(struct timeline *t, struct space *s, const struct effect *e)
{
	int err = space_write(s, e->addr, e->mem.data, e->len);

	if (err != -EFAULT && err != -EIO)
		return err;
	if (!space_clean(s) && !grow_stack(s, e->addr))
		return space_write(s, e->addr, e->mem.data, e->len);
	return write_shares(t->now, s, e->addr, e->mem.data, e->len);
}

static int apply_remap(struct space *s, const struct effect *e)
{
	u64 from = e->remap.from;
	u64 flags = from == e->addr ? 0 : MREMAP_MAYMOVE | MREMAP_FIXED | e->remap.flags;
	s64 ret;

	return call(s, &ret, SYS_mremap, from, e->remap.from_len, e->len, flags, e->addr,
		    0);
}

static int apply_fork(struct timeline *t, struct thread *th, const struct effect *e)
{
	struct space *s = th->space, *to = s;
	struct thread *child;
	pid_t host;
	int err;

	err = space_unload(s);
	if (err)
		return err;
	if (!e->fork.share) {
		struct world *w = t->now;

		err = host_fork(s->host, &host);
		if (!err)
			err = world_add_space(w, host, &to);
		if (!err)
			err = maps_copy(&to->maps, &s->maps);
		if (err)
			return err;
		to->exe = s->exe ? strdup(s->exe) : NULL;
		to->auxv = malloc(s->auxv_len + 1);
		if (!to->auxv || (s->exe && !to->exe))
			return -ENOMEM;
		memcpy(to->auxv, s->auxv ? s->auxv : (u8 *)"", s->auxv_len);
		to->auxv_len = s->auxv_len;
	}
	err = world_add_thread(t->now, e->fork.tid, e->fork.pid, to, &child);
	if (err)
		return err;
	child->regs = *e->fork.regs;
	child->fresh = true;
	if (th->xstate)
		err = thread_set_xstate(child, th->xstate, th->xstate_len);
	return err;
}

static int apply_output(struct timeline *t, struct space *s, const struct effect *e,
			const struct event *ev)
{
	u8 buf[1 << 14];
	u64 done = 0;

	if (ev->number <= t->output_done || !t->opts.output)
		return 0;
	while (done < e->len) {
		size_t n = MIN(sizeof(buf), e->len - done);
		int err = space_read(s, e->addr + done, buf, n);

		if (err)
			return err;
		t->opts.output(t->opts.ctx, e->output.fd, buf, n);
		done += n;
	}
	return 0;
}

static int apply_one(struct timeline *t, struct thread *th, const struct event *ev,
		     const struct effect *e)
{
	struct space *s = th->space;
	s64 ret;
	int err = 0;

	if (e->kind != EF_MEM && e->kind != EF_OUTPUT)
		err = space_clean(s);
	if (err)
		return err;
	switch ((enum effect_kind)e->kind) {
	case EF_MEM:
		return apply_mem(t, s, e);
	case EF_MAP:
		err = apply_map(t, s, e);
		break;
	case EF_UNMAP:
		err = call(s, &ret, SYS_munmap, e->addr, e->len, 0, 0, 0, 0);
		break;
	case EF_PROTECT:
		err = call(s, &ret, SYS_mprotect, e->addr, e->len, e->protect.prot, 0, 0,
			   0);
		break;
	case EF_REMAP:
		err = apply_remap(s, e);
		break;
	case EF_DISCARD:
		err = call(s, &ret, SYS_madvise, e->addr, e->len, MADV_DONTNEED, 0, 0, 0);
		/* Holes in the range are skipped, and said at the end. */
		if (err == -ENOMEM)
			err = 0;
		break;
	case EF_FORK:
		return apply_fork(t, th, e);
	case EF_OUTPUT:
		return apply_output(t, s, e, ev);
	default:
		return -EBADMSG;
	}
	return err ? err : maps_apply(&s->maps, e);
}

static const char *const effect_names[NR_EFFECT_KINDS] = {
	[EF_MEM] = "memory",	  [EF_MAP] = "map",	  [EF_UNMAP] = "unmap",
	[EF_PROTECT] = "protect", [EF_REMAP] = "remap",	  [EF_DISCARD] = "discard",
	[EF_FORK] = "fork",	  [EF_OUTPUT] = "output",
};

int apply_effects(struct timeline *t, struct thread *th, const struct event *ev)
{
	for (u32 i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];
		int err = apply_one(t, th, ev, e);

		if (err == -ESRCH || err == -ENOMEM || err == -EBADMSG)
			return err;
		if (err)
			return diverge(t, ev, &th->regs, "an effect cannot be applied",
				       "%s at %#" PRIx64 ", %" PRIu64 " bytes: %s",
				       e->kind < NR_EFFECT_KINDS ? effect_names[e->kind]
								 : "?",
				       e->addr, e->len, strerror(-err));
	}
	return 0;
}
