/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * memory.c - calls that change an address space, as effects.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "record/internal.h"

#define FLAGS_KEPT (MAP_SHARED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN)
#define DEV_SYSV   (~0UL) /* "device" of System V segments, by their id */

/* The mapping that holds @addr, from /proc/TID/maps. */
static bool mapping_at(pid_t tid, u64 addr, u64 *start, u64 *end)
{
	char path[40], line[512];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%lx-%lx", start, end) == 2 && addr >= *start &&
			addr < *end;
	if (f)
		fclose(f);
	return found;
}

u32 share_id(struct session *s, u64 dev, u64 ino, bool *fresh)
{
	*fresh = false;
	for (size_t i = 0; dev && i < s->n_shared; i++)
		if (s->shared[i].dev == dev && s->shared[i].ino == ino)
			return s->shared[i].id;
	*fresh = true;
	if (array_reserve(&s->shared, &s->shared_cap, s->n_shared + 1,
			  sizeof(*s->shared))) {
		s->fx.data.err = -ENOMEM;
		return 0;
	}
	s->shared[s->n_shared++] = (struct shared){dev, ino, ++s->next_share};
	return s->next_share;
}

struct effect *add_map(struct session *s, u64 addr, u64 len, u32 prot, u32 flags)
{
	struct effect *e = effects_add(&s->fx, EF_MAP, addr, len);

	if (e) {
		e->map.prot = prot & (PROT_READ | PROT_WRITE | PROT_EXEC);
		e->map.flags = flags & FLAGS_KEPT;
		e->map.name = "";
	}
	return e;
}

/* The path of an open file as /proc/PID/maps would show it. */
static void file_name(pid_t tid, int fd, char *out, size_t n)
{
	char link[64];
	ssize_t got;

	snprintf(link, sizeof(link), "/proc/%d/fd/%d", tid, fd);
	got = readlink(link, out, n - 1);
	out[got > 0 ? got : 0] = '\0';
}

int keep_mapping(struct session *s, int fd, u64 addr, u64 len, u32 prot, u32 flags,
		 u64 offset, const char *name)
{
	struct effect *e;
	struct stat st;
	bool fresh, shared;
	u32 id = 0;
	int err = 0;

	if (fstat(fd, &st))
		return -errno;
	/* What nobody here can write through is as good as private. */
	shared = (flags & MAP_SHARED) && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
	if (S_ISCHR(st.st_mode)) {
		/* /dev/zero is anonymous memory; other devices are refused. */
		shared = flags & MAP_SHARED;
	} else if (!shared) {
		flags = (flags & ~(MAP_SHARED | 0x3)) | MAP_PRIVATE;
		err = trace_writer_file(s->w, fd, name, &id);
		if (err)
			return err;
		s->some_file = id;
	}
	e = add_map(s, addr, len, prot, flags);
	if (!e)
		return -ENOMEM;
	e->map.offset = offset;
	e->map.file = id;
	e->map.name = name;
	if (!shared)
		return 0;
	if (S_ISCHR(st.st_mode)) {
		e->map.share = share_id(s, 0, 0, &fresh);
		e->map.offset = 0;
		return 0;
	}
	e->map.share = share_id(s, st.st_dev, st.st_ino, &fresh);
	err = effects_nonzero(&s->fx, addr, len);
	if (offset + len > PAGE_UP(st.st_size)) {
		offset = MAX(offset, PAGE_UP(st.st_size)) - offset;
		map_beyond(s, addr + offset, len - offset, prot);
	}
	return err;
}

void map_beyond(struct session *s, u64 addr, u64 len, u32 prot)
{
	struct effect *e = s->some_file ? add_map(s, addr, len, prot, MAP_PRIVATE) : NULL;

	if (!e)
		return;
	/* Past the end of whatever file it is. */
	e->map.file = s->some_file;
	e->map.offset = 1UL << 40;
}

void hook_mmap_enter(struct session *s, struct task *t, struct regs *r)
{
	(void)s;
	/* Replay has no pool of huge pages to set aside. */
	if (r->r[X86_R10] & MAP_HUGETLB) {
		t->call.skipped = true;
		t->call.forced = -ENOMEM;
	}
}

void hook_mmap_leave(struct session *s, struct task *t, s64 ret)
{
	const u64 *arg = t->call.view.arg;
	u64 len = PAGE_UP(arg[1]);
	struct effect *e;
	char link[64], path[4096];
	const char *name;
	bool fresh;
	int fd, err;

	if (ret < 0 && ret > -4096)
		return;
	if (arg[3] & MAP_ANONYMOUS) {
		/* MAP_SHARED_VALIDATE is MAP_SHARED | MAP_PRIVATE. */
		e = add_map(s, ret, len, arg[2],
			    arg[3] & MAP_SHARED ? arg[3] & ~(u64)MAP_PRIVATE : arg[3]);
		if (e && (arg[3] & MAP_SHARED))
			e->map.share = share_id(s, 0, 0, &fresh);
		return;
	}
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", t->tid, (int)arg[4]);
	file_name(t->tid, arg[4], path, sizeof(path));
	name = effects_name(&s->fx, path);
	/* Opened anew, it must not be waited for, nor truncated, and it has to
	 * show whether the program could write it. */
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && program_can_write(t->tid, arg[4])) {
		close(fd);
		fd = open(link, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	}
	if (fd < 0) {
		session_end(s, "cannot open the mapped file %s: %s", name, strerror(errno));
		return;
	}
	err = keep_mapping(s, fd, ret, len, arg[2],
			   arg[3] & MAP_SHARED ? arg[3] & ~(u64)MAP_PRIVATE : arg[3],
			   arg[5], name);
	close(fd);
	if (err)
		session_end(s, "cannot keep the mapped file %s: %s", name, strerror(-err));
}

void hook_munmap_leave(struct session *s, struct task *t, s64 ret)
{
	if (!ret)
		effects_add(&s->fx, EF_UNMAP, t->call.view.arg[0],
			    PAGE_UP(t->call.view.arg[1]));
}

void hook_mprotect_leave(struct session *s, struct task *t, s64 ret)
{
	const u64 *arg = t->call.view.arg;
	struct effect *e;

	/* A failure may have changed the part before a hole: rare, and the same
	 * call fails the same way on the recorded prefix only by luck. */
	if (ret || !arg[1])
		return;
	e = effects_add(&s->fx, EF_PROTECT, arg[0], PAGE_UP(arg[1]));
	if (e)
		e->protect.prot = arg[2] & (PROT_READ | PROT_WRITE | PROT_EXEC);
}

void hook_mremap_enter(struct session *s, struct task *t, struct regs *r)
{
	(void)s;
	/* Old length 0 duplicates a shared mapping. */
	if (!r->r[X86_RSI]) {
		t->call.skipped = true;
		t->call.forced = -EINVAL;
	}
}

void hook_mremap_leave(struct session *s, struct task *t, s64 ret)
{
	const u64 *arg = t->call.view.arg;
	struct effect *e;

	if (ret < 0 && ret > -4096)
		return;
	e = effects_add(&s->fx, EF_REMAP, ret, PAGE_UP(arg[2]));
	if (!e)
		return;
	e->remap.from = arg[0];
	e->remap.from_len = PAGE_UP(arg[1]);
	e->remap.flags = arg[3] & 4; /* MREMAP_DONTUNMAP */
}

void hook_brk_leave(struct session *s, struct task *t, s64 ret)
{
	u64 was = PAGE_UP(t->mm->brk), now = PAGE_UP(ret);
	struct effect *e;

	if (now > was) {
		e = add_map(s, was, now - was, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS);
		if (e)
			e->map.name = "[heap]";
	} else if (now < was) {
		effects_add(&s->fx, EF_UNMAP, now, was - now);
	}
	t->mm->brk = ret;
}

#define MADV_WIPEONFORK_     18
#define MADV_COLLAPSE_	     25
#define MADV_GUARD_INSTALL_  102
#define MADV_GUARD_REMOVE_   103
#define MADV_DONTNEED_LOCKED 24

void hook_madvise_enter(struct session *s, struct task *t, struct regs *r)
{
	(void)s;
	switch ((int)r->r[X86_RDX]) {
	case MADV_FREE:
		/* When the kernel takes such pages is its own affair: now. */
		r->r[X86_RDX] = MADV_DONTNEED;
		t->call.args_changed = true;
		break;
	case MADV_DONTFORK:
	case MADV_WIPEONFORK_:
	case MADV_REMOVE:
	case MADV_GUARD_INSTALL_:
	case MADV_GUARD_REMOVE_:
	case MADV_HWPOISON:
		t->call.skipped = true;
		t->call.forced = -EINVAL;
		break;
	}
}

void hook_madvise_leave(struct session *s, struct task *t, s64 ret)
{
	const u64 *arg = t->call.view.arg;

	if (ret)
		return;
	switch ((int)arg[2]) {
	case MADV_FREE:
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
		effects_add(&s->fx, EF_DISCARD, arg[0], PAGE_UP(arg[1]));
	}
}

void hook_shmat_leave(struct session *s, struct task *t, s64 ret)
{
	const u64 *arg = t->call.view.arg;
	struct shmid_ds ds;
	struct effect *e;
	bool fresh;
	u64 len;

	if (ret < 0 && ret > -4096)
		return;
	if (shmctl((int)arg[0], IPC_STAT, &ds)) {
		session_end(s, "cannot look at shared memory %d: %s", (int)arg[0],
			    strerror(errno));
		return;
	}
	len = PAGE_UP(ds.shm_segsz);
	e = add_map(s, ret, len, PROT_READ | (arg[2] & SHM_RDONLY ? 0 : PROT_WRITE),
		    MAP_SHARED);
	if (!e)
		return;
	e->map.share = share_id(s, DEV_SYSV, (int)arg[0], &fresh);
	e->map.name = "/SYSV";
	if (effects_nonzero(&s->fx, ret, len))
		s->fx.data.err = -ENOMEM;
}

void hook_shmdt_enter(struct session *s, struct task *t, struct regs *r)
{
	u64 start, end;

	(void)s;
	/* Which length goes is only seen in the map before. */
	if (mapping_at(t->tid, r->r[X86_RDI], &start, &end))
		t->call.hook[0] = end - start;
}

void hook_shmdt_leave(struct session *s, struct task *t, s64 ret)
{
	if (!ret && t->call.hook[0])
		effects_add(&s->fx, EF_UNMAP, t->call.view.arg[0], t->call.hook[0]);
}

/* How far the main stack may grow has changed: replay has it mapped whole. */
void hook_rlimit_leave(struct session *s, struct task *t, s64 ret)
{
	const u64 *arg = t->call.view.arg;
	bool prlimit_call = t->call.view.nr == SYS_prlimit64;
	u64 low, used, end, limit;
	struct mm *m = t->mm;
	struct effect *e;

	if (ret || arg[prlimit_call] != RLIMIT_STACK || !m->stack_end)
		return;
	if (prlimit_call && (!arg[2] || (arg[0] && (pid_t)arg[0] != t->pid)))
		return;
	if (exec_stack_limit(t->tid, &limit) ||
	    !mapping_at(t->tid, m->stack_end - 1, &used, &end))
		return;
	low = MIN(PAGE_UP(m->stack_end - MIN(limit, STACK_MAX)), used);
	if (low > m->stack_low) {
		effects_add(&s->fx, EF_UNMAP, m->stack_low, low - m->stack_low);
	} else if (low < m->stack_low) {
		e = add_map(s, low, m->stack_low - low, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN);
		if (e)
			e->map.name = "[stack]";
	}
	m->stack_low = low;
}
