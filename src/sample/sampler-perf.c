/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sampler-perf.c - sampling without BPF: the kernel copies the registers and
 * the stack into a perf ring, and the print is made of that copy. Windows
 * outside of the copied stack are not valid then.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <asm/perf_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "sample/sampler-internal.h"

/* The registers of a sample in the order of its mask's bits. */
static const struct {
	u8 perf, reg;
} perf_regs[] = {
	{PERF_REG_X86_AX,	  X86_RAX	 },
	     {PERF_REG_X86_BX,    X86_RBX   },
	{PERF_REG_X86_CX,	  X86_RCX	 },
	     {PERF_REG_X86_DX,    X86_RDX   },
	{PERF_REG_X86_SI,	  X86_RSI	 },
	     {PERF_REG_X86_DI,    X86_RDI   },
	{PERF_REG_X86_BP,	  X86_RBP	 },
	     {PERF_REG_X86_SP,    X86_RSP   },
	{PERF_REG_X86_IP,	  X86_RIP	 },
	     {PERF_REG_X86_FLAGS, X86_EFLAGS},
	{PERF_REG_X86_R8,	  X86_R8	},
	     {PERF_REG_X86_R9,    X86_R9    },
	{PERF_REG_X86_R10,   X86_R10	  },
	     {PERF_REG_X86_R11,	X86_R11   },
	{PERF_REG_X86_R12,   X86_R12	  },
	     {PERF_REG_X86_R13,	X86_R13   },
	{PERF_REG_X86_R14,   X86_R14	  },
	     {PERF_REG_X86_R15,	X86_R15   },
};

#define RING_BYTES (4UL << 20)
#define RING_LEAST (128UL << 10)
#define RECORD_MAX 65536

struct perf_sampler {
	struct thread_fds threads;
	struct perf_event_attr attr;
	int ring_fd; /* an event that counts nothing and owns the ring */
	int cpu;
	struct perf_event_mmap_page *page;
	u64 size;
	u64 lost;
	u64 entry_start, entry_end; /* ksyms_syscall_entry() */
	u8 record[RECORD_MAX];	    /* one that wraps around the ring's end */
};

static void perf_close(void *state)
{
	struct perf_sampler *p = state;

	thread_fds_fini(&p->threads);
	if (p->page)
		munmap(p->page, PAGE_BYTES + p->size);
	if (p->ring_fd >= 0)
		close(p->ring_fd);
	free(p);
}

/* Without privilege a ring may have perf_event_mlock_kb and no more. */
static int ring_map(struct perf_sampler *p)
{
	void *m = MAP_FAILED;

	for (p->size = RING_BYTES; p->size >= RING_LEAST; p->size /= 2) {
		m = mmap(NULL, PAGE_BYTES + p->size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 p->ring_fd, 0);
		if (m != MAP_FAILED || errno != EPERM)
			break;
	}
	if (m == MAP_FAILED)
		return -errno;
	p->page = m;
	return 0;
}

static void attr_fill(struct perf_event_attr *a, const struct sampler_opts *o)
{
	*a = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(*a),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NSEC_PER_SEC / o->hz,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_stack_user = PRINT_STACK_BYTES,
		.exclude_callchain_user = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.disabled = 1,
	};
	for (size_t i = 0; i < ARRAY_SIZE(perf_regs); i++)
		a->sample_regs_user |= 1UL << perf_regs[i].perf;
}

static int perf_thread_add(void *state, pid_t tid)
{
	struct perf_sampler *p = state;
	int fd = perf_open(&p->attr, tid, p->cpu);

	if ((fd == -EACCES || fd == -EPERM) && !p->attr.exclude_kernel) {
		/* perf_event_paranoid 2: one's own user code may be sampled. */
		p->attr.exclude_kernel = 1;
		fd = perf_open(&p->attr, tid, p->cpu);
	}
	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, p->ring_fd) ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return thread_fds_add(&p->threads, tid, fd);
}

static void perf_thread_del(void *state, pid_t tid)
{
	struct perf_sampler *p = state;

	thread_fds_del(&p->threads, tid);
}

/* Events of several threads may share a ring only if all are of one CPU. */
static int ring_open(struct perf_sampler *p)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.exclude_kernel = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	p->ring_fd = perf_open(&attr, 0, p->cpu);
	return p->ring_fd < 0 ? p->ring_fd : ring_map(p);
}

static int perf_sampler_open(void **state, const struct sampler_opts *o, char *why,
			     size_t n)
{
	struct perf_sampler *p = calloc(1, sizeof(*p));
	pid_t self = gettid();
	int err;

	if (!p)
		return -ENOMEM;
	p->cpu = o->cpu;
	attr_fill(&p->attr, o);
	ksyms_syscall_entry(&p->entry_start, &p->entry_end);
	err = ring_open(p);
	if (!err)
		err = perf_thread_add(p, self);
	if (err) {
		perf_refused(err, why, n);
		perf_close(p);
		return err;
	}
	perf_thread_del(p, self);
	*state = p;
	return 0;
}

struct stack_copy {
	u64 start, n;
	const u8 *data;
};

static int copy_read(void *ctx, u64 addr, void *buf, size_t n)
{
	const struct stack_copy *c = ctx;

	if (addr < c->start || n > c->n || addr - c->start > c->n - n)
		return -EFAULT;
	memcpy(buf, c->data + (addr - c->start), n);
	return 0;
}

static void take_regs(struct rbuf *b, struct regs *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(perf_regs); i++)
		r->r[perf_regs[i].reg] = rbuf_u64(b);
	r->r[X86_EFLAGS] &= EFLAGS_USER;
	r->r[X86_ORIG_RAX] = ~0UL;
}

static void take_chain(struct rbuf *b, struct sample *s)
{
	u64 n = rbuf_u64(b);

	while (n-- && !b->err) {
		u64 ip = rbuf_u64(b);

		/* Markers of what follows, PERF_CONTEXT_*, are no addresses. */
		if (ip >= PERF_CONTEXT_MAX || (s64)ip >= 0)
			continue;
		if (s->n_kernel < SAMPLE_MAX_KERNEL)
			s->kernel[s->n_kernel++] = ip;
	}
}

/*
 * perf does not tell orig_rax, but the kernel's stack tells where it was
 * entered. Where addresses are hidden: the SYSCALL instruction leaves its
 * return address in rcx, and the kernel keeps that so until it returns, except
 * from rt_sigreturn.
 */
static bool in_syscall(const struct perf_sampler *p, const struct sample *s, u64 ip)
{
	const struct regs *r = &s->point.regs;

	if ((s64)ip >= 0)
		return false;
	for (u32 i = 0; i < s->n_kernel; i++)
		if (s->kernel[i] >= p->entry_start && s->kernel[i] < p->entry_end)
			return true;
	return r->r[X86_RCX] == r->r[X86_RIP];
}

static void perf_sample(struct perf_sampler *p, struct rbuf b, sampler_fn fn, void *ctx)
{
	struct sample s = {.weight = 1, .kind = SAMPLE_USER};
	u64 ip = rbuf_u64(&b);
	struct stack_copy copy;

	s.pid = rbuf_u32(&b);
	s.tid = s.point.tid = rbuf_u32(&b);
	s.time_ns = rbuf_u64(&b);
	take_chain(&b, &s);
	/* No user registers: a thread on its way out, without memory. */
	if (rbuf_u64(&b) == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	take_regs(&b, &s.point.regs);
	copy.start = s.point.regs.r[X86_RSP];
	copy.n = rbuf_u64(&b);
	copy.data = rbuf_take(&b, copy.n);
	if (copy.n) {
		/* Room is reserved for all that was asked; this much was there. */
		u64 there = rbuf_u64(&b);

		copy.n = MIN(copy.n, there);
	}
	if (b.err) {
		p->lost++;
		return;
	}
	if (s.point.regs.r[X86_RIP] - PRINT_AGENT < PRINT_AGENT_SIZE)
		return;
	if (in_syscall(p, &s, ip))
		s.kind = SAMPLE_SYSCALL;
	else if (print_compute(&s.point.print, &s.point.regs, NULL, copy_read, &copy))
		return;
	fn(ctx, &s);
}

/* The record at @at, in one piece. */
static const struct perf_event_header *record_at(struct perf_sampler *p, u64 at)
{
	const u8 *data = (const u8 *)p->page + PAGE_BYTES;
	u64 off = at & (p->size - 1);
	const struct perf_event_header *h = (const void *)(data + off);
	u64 first = p->size - off;

	/* Records are multiples of 8: a header is never torn. */
	if (h->size <= first)
		return h;
	memcpy(p->record, h, first);
	memcpy(p->record + first, data, h->size - first);
	return (const void *)p->record;
}

static int perf_drain(void *state, sampler_fn fn, void *ctx)
{
	struct perf_sampler *p = state;
	u64 at = p->page->data_tail, head;

	while (at != (head = __atomic_load_n(&p->page->data_head, __ATOMIC_ACQUIRE))) {
		const struct perf_event_header *h = record_at(p, at);
		struct rbuf b = rbuf_of(h + 1, h->size - sizeof(*h));

		if (h->type == PERF_RECORD_SAMPLE) {
			perf_sample(p, b, fn, ctx);
		} else if (h->type == PERF_RECORD_LOST) {
			rbuf_u64(&b);
			p->lost += rbuf_u64(&b);
		}
		at += h->size;
		__atomic_store_n(&p->page->data_tail, at, __ATOMIC_RELEASE);
	}
	return 0;
}

static u64 perf_lost(void *state)
{
	struct perf_sampler *p = state;

	return p->lost;
}

static u64 perf_room(void *state)
{
	struct perf_sampler *p = state;

	/* The stack, the registers and a call chain that is not of the longest. */
	return p->size / (PRINT_STACK_BYTES + 1024);
}

const struct sampler_ops sampler_perf_ops = {
	.kind = SAMPLER_PERF,
	.open = perf_sampler_open,
	.close = perf_close,
	.thread_add = perf_thread_add,
	.thread_del = perf_thread_del,
	.drain = perf_drain,
	.lost = perf_lost,
	.room = perf_room,
};
