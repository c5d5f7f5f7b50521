/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * strong.c - a point that must be exact whatever the program does.
 *
 * Registers and the memory they reach can be the same twice in a loop that
 * changes other memory. So for a while before the point page writes are
 * watched (userfaultfd, asynchronous write protection), and the thread is
 * left to come by the same instruction once more: words that changed in
 * between tell the passes apart, and the hashes of all pages written decide.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/log.h"
#include "record/internal.h"

/* Linux 6.7: newer than the headers of Debian 12. */
#define WP_UNPOPULATED (1 << 13)
#define WP_ASYNC       (1 << 15)

struct scan_arg {
	u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
	u64 inverted, mask, anyof, returned;
};

struct scan_region {
	u64 start, end, categories;
};

#define SCAN	     _IOWR('f', 16, struct scan_arg)
#define SCAN_PROTECT 1
#define SCAN_CHECK   2
#define SCAN_WRITTEN 2

#define MAX_PAGES 128
/* How long the thread may take to come by the same place again. */
#define PASS_NS NSEC_PER_MSEC

struct range {
	u64 start, end;
};

struct strong {
	int uffd, pagemap;
	struct range *r;
	size_t n, cap;
	u32 n_words;
	struct point_word words[POINT_MAX_WORDS];
};

/* ---- watching page writes ---- */

/*
 * A userfaultfd belongs to the address space of whoever makes it: the task
 * makes it, we take it over, and it is closed there again.
 */
static int take_uffd(struct task *t)
{
	struct uffdio_api api = {.api = UFFD_API, .features = WP_ASYNC | WP_UNPOPULATED};
	s64 there, ret;
	int pidfd, fd = -1;

	if (tracee_syscall(t->tid, &there, SYS_userfaultfd,
			   O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY, 0, 0, 0, 0, 0))
		return -ESRCH;
	if (there < 0)
		return there;
	pidfd = syscall(SYS_pidfd_open, t->pid, 0);
	if (pidfd >= 0) {
		fd = syscall(SYS_pidfd_getfd, pidfd, (int)there, 0);
		close(pidfd);
	}
	if (tracee_syscall(t->tid, &ret, SYS_close, there, 0, 0, 0, 0, 0) && fd >= 0) {
		close(fd);
		return -ESRCH;
	}
	if (fd >= 0 && ioctl(fd, UFFDIO_API, &api)) {
		close(fd);
		fd = -1;
	}
	return fd < 0 ? -ENOSYS : fd;
}

static int scan(struct strong *st, const struct range *r, u64 flags, struct scan_region *v,
		size_t n)
{
	struct scan_arg a = {
		.size = sizeof(a),
		.flags = flags,
		.start = r->start,
		.end = r->end,
		.vec = (u64)v,
		.vec_len = n,
		.mask = SCAN_WRITTEN,
		.returned = SCAN_WRITTEN,
	};

	return ioctl(st->pagemap, SCAN, &a);
}

static int watch_range(struct strong *st, u64 start, u64 end)
{
	struct uffdio_register reg = {
		.range = {start, end - start},
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	struct range r = {start, end};

	/* Devices and the like cannot be watched. */
	if (ioctl(st->uffd, UFFDIO_REGISTER, &reg) ||
	    scan(st, &r, SCAN_PROTECT | SCAN_CHECK, NULL, 0) < 0)
		return 0;
	if (array_reserve(&st->r, &st->cap, st->n + 1, sizeof(*st->r)))
		return -ENOMEM;
	st->r[st->n++] = r;
	return 0;
}

static int watch_all(struct strong *st, struct task *t)
{
	char path[40], line[512], prot[8];
	u64 start, end;
	int err = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", t->tid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (!err && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %7s", &start, &end, prot) != 3)
			continue;
		if (prot[1] == 'w' &&
		    !(start >= AGENT_BASE && start < AGENT_BASE + AGENT_SIZE))
			err = watch_range(st, start, end);
	}
	fclose(f);
	return err;
}

int strong_begin(struct session *s, struct task *t)
{
	struct strong *st = calloc(1, sizeof(*st));
	char path[40];
	int err = 0;

	if (!st)
		return -ENOMEM;
	/* Without watching, the print alone has to do. */
	s->strong = st;
	s->strong_ns = now_ns();
	snprintf(path, sizeof(path), "/proc/%d/pagemap", t->tid);
	st->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	st->uffd = st->pagemap < 0 ? -errno : take_uffd(t);
	if (st->uffd >= 0)
		err = watch_all(st, t);
	s->strong_ns = now_ns();
	return st->uffd < 0 ? st->uffd : err;
}

void strong_drop(struct session *s)
{
	struct strong *st = s->strong;

	if (!st)
		return;
	if (st->uffd >= 0)
		close(st->uffd);
	if (st->pagemap >= 0)
		close(st->pagemap);
	free(st->r);
	free(st);
	s->strong = NULL;
}

/* Addresses of at most @max pages written since the watch began. */
static u32 written(struct strong *st, u64 *pages, u32 max)
{
	struct scan_region v[32];
	u32 n = 0;

	for (size_t i = 0; i < st->n && n < max; i++) {
		int got = scan(st, &st->r[i], SCAN_CHECK, v, ARRAY_SIZE(v));

		for (int k = 0; k < got; k++)
			for (u64 a = v[k].start; a < v[k].end && n < max; a += PAGE_BYTES)
				pages[n++] = a;
	}
	return n;
}

/* ---- the next pass over the same place ---- */

static int set_debug_register(pid_t tid, int nr, u64 value)
{
	return ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg[nr]), value)
		       ? -errno
		       : 0;
}

/* Instructions that a single step would change (pushf stores the trap flag)
 * or split (repeated strings: their registers tell the passes apart). */
static bool may_step(struct task *t, u64 ip)
{
	u8 code[2] = {0};

	tracee_read_some(t->tid, ip, code, sizeof(code));
	return code[0] != 0x9c && code[0] != 0xf2 && code[0] != 0xf3 && code[0] != 0xcc;
}

/* Wait for the task; past the deadline interrupt it. */
static int await(struct task *t, u64 deadline, struct tracee_stop *stop)
{
	int err;

	for (;;) {
		err = tracee_wait(t->tid, WNOHANG, stop);
		if (err != -EAGAIN && err != -EINTR)
			return err;
		if (now_ns() >= deadline && !t->interrupted) {
			t->interrupted = true;
			tracee_ignore(tracee_resume(t->tid, PTRACE_INTERRUPT, 0));
		}
		sched_yield();
	}
}

static bool is_trap(const struct tracee_stop *s)
{
	return s->kind == TRACEE_SIGNAL && s->sig == SIGTRAP;
}

static bool is_interrupt(const struct tracee_stop *s)
{
	return s->kind == TRACEE_EVENT && s->event == PTRACE_EVENT_STOP;
}

/*
 * From pass to pass over the place of @r until one has all of its registers:
 * that is the one to tell from the first. 2: there, 1: at some other pass, 0:
 * interrupted elsewhere, -EAGAIN: *@stop is something else, to be seen to.
 */
static int passes(struct task *t, const struct regs *r, struct tracee_stop *stop)
{
	u64 deadline = now_ns() + PASS_NS;
	struct regs now;
	int err;

	/* Having hit, the kernel sets the resume flag: no step is needed. */
	do {
		err = tracee_resume(t->tid, PTRACE_CONT, 0);
		if (!err)
			err = await(t, deadline, stop);
		if (err)
			return err;
		if (!is_trap(stop))
			return is_interrupt(stop) ? 0 : -EAGAIN;
		err = tracee_get_regs(t->tid, &now);
		if (err)
			return err;
		if (regs_equal(r, &now))
			return 2;
	} while (!t->interrupted && now_ns() < deadline);
	return 1;
}

static int next_pass(struct task *t, const struct regs *r, struct tracee_stop *stop)
{
	int err;

	err = tracee_resume(t->tid, PTRACE_SINGLESTEP, 0);
	if (!err)
		err = await(t, ~0UL, stop);
	if (err)
		return err;
	if (!is_trap(stop))
		return -EAGAIN;
	if (set_debug_register(t->tid, 0, r->r[X86_RIP]) ||
	    set_debug_register(t->tid, 7, 1))
		return 0;
	err = passes(t, r, stop);
	if (err < 0 && err != -EAGAIN)
		return err;
	tracee_ignore(set_debug_register(t->tid, 7, 0));
	t->late_stop |= t->interrupted && !is_interrupt(stop);
	t->interrupted = false;
	return err;
}

/* Words of the pages that are not as they were a pass ago. */
static void find_words(struct strong *st, struct task *t, const u64 *pages, u32 n,
		       const u64 *before)
{
	u64 now[PAGE_BYTES / 8];
	u32 here;

	st->n_words = 0;
	for (u32 i = 0; i < n; i++) {
		const u64 *was = before + i * ARRAY_SIZE(now);

		if (tracee_read_some(t->tid, pages[i], now, sizeof(now)) != sizeof(now))
			continue;
		here = 0;
		for (u32 w = 0; w < ARRAY_SIZE(now) && here < 2; w++) {
			if (now[w] == was[w] || st->n_words == POINT_MAX_WORDS)
				continue;
			st->words[st->n_words++] =
				(struct point_word){pages[i] + w * 8, now[w]};
			here++;
		}
	}
}

int strong_settle(struct session *s, struct task *t, struct tracee_stop *stop)
{
	struct strong *st = s->strong;
	u64 pages[MAX_PAGES / 2], *before;
	struct regs r;
	u32 n;
	int got;

	if (!st || st->uffd < 0 || tracee_get_regs(t->tid, &r) ||
	    !may_step(t, r.r[X86_RIP]))
		return 0;
	n = written(st, pages, ARRAY_SIZE(pages));
	before = calloc(n + 1, PAGE_BYTES);
	if (!before)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++)
		tracee_read_some(t->tid, pages[i], (u8 *)before + i * PAGE_BYTES,
				 PAGE_BYTES);
	got = next_pass(t, &r, stop);
	if (got > 0)
		find_words(st, t, pages, n, before);
	/* Until another thread changes something it will do nothing else. */
	t->spins = got == 2 && !written(st, pages, 1);
	free(before);
	return got < 0 ? got : 0;
}

/* ---- the point ---- */

static int read_task(void *ctx, u64 addr, void *buf, size_t n)
{
	struct task *t = ctx;

	return tracee_read_some(t->tid, addr, buf, n) == n ? 0 : -EFAULT;
}

static int hash_pages(struct strong *st, struct task *t, struct point *p)
{
	u64 pages[MAX_PAGES];
	u8 page[PAGE_BYTES];
	u32 n = written(st, pages, ARRAY_SIZE(pages));

	p->pages = calloc(n + 1, sizeof(*p->pages));
	if (!p->pages)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++) {
		if (tracee_read_some(t->tid, pages[i], page, sizeof(page)) != sizeof(page))
			continue;
		p->pages[p->n_pages++] =
			(struct point_page){pages[i], XXH3_64bits(page, sizeof(page))};
	}
	return 0;
}

int strong_point(struct session *s, struct task *t, struct point *p)
{
	struct strong *st = s->strong;
	int err = print_compute(&p->print, &p->regs, NULL, read_task, t);

	if (err || !st || st->uffd < 0)
		return err;
	p->n_words = st->n_words;
	memcpy(p->words, st->words, sizeof(p->words));
	return hash_pages(st, t, p);
}
