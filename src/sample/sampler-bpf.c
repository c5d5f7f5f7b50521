/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sampler-bpf.c - a perf event for each thread, with bpf/sample.bpf.c on it,
 * and the ring that it writes to.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/libbpf.h>

#include "sample/sampler-internal.h"
#include "bpf/sample-record.h"
#include "bpf/sample.skel.h"

_Static_assert(SAMPLE_RECORD_REGS == X86_EFLAGS + 1, "registers up to eflags");
_Static_assert(SAMPLE_RECORD_FRAMES == SAMPLE_MAX_KERNEL, "as many frames");

struct bpf_sampler {
	struct sample_bpf *skel;
	struct thread_fds threads;
	u64 period_ns;
	/*
	 * The ring (Documentation/bpf/ringbuf.rst): a page with our position, a
	 * page with the kernel's, the data twice in a row. Not read through
	 * libbpf: its way to find the ring empty costs more than the look at
	 * one word, which is made at every recorded event.
	 */
	u64 *consumer;
	const u64 *producer;
	const u8 *data;
	u64 size;
};

static void bpf_close(void *state)
{
	struct bpf_sampler *b = state;

	thread_fds_fini(&b->threads);
	if (b->consumer)
		munmap(b->consumer, PAGE_BYTES);
	if (b->producer)
		munmap((void *)b->producer, PAGE_BYTES + 2 * b->size);
	sample_bpf__destroy(b->skel);
	free(b);
}

static int ring_map(struct bpf_sampler *b)
{
	int fd = bpf_map__fd(b->skel->maps.ring);
	void *p;

	b->size = bpf_map__max_entries(b->skel->maps.ring);
	p = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	b->consumer = p;
	p = mmap(NULL, PAGE_BYTES + 2 * b->size, PROT_READ, MAP_SHARED, fd, PAGE_BYTES);
	if (p == MAP_FAILED)
		return -errno;
	b->producer = p;
	b->data = (const u8 *)p + PAGE_BYTES;
	return 0;
}

static int no_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static int skel_load(struct bpf_sampler *b)
{
	libbpf_print_fn_t old = libbpf_set_print(no_print);
	u64 start, end;
	int err;

	b->skel = sample_bpf__open();
	err = b->skel ? 0 : -errno;
	if (!err) {
		ksyms_syscall_entry(&start, &end);
		b->skel->rodata->entry_start = start;
		b->skel->rodata->entry_end = end;
		err = sample_bpf__load(b->skel);
	}
	libbpf_set_print(old);
	return err;
}

static int bpf_thread_add(void *state, pid_t tid)
{
	struct bpf_sampler *b = state;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = b->period_ns,
		.disabled = 1,
	};
	int fd = perf_open(&attr, tid, -1);

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(b->skel->progs.on_sample)) ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return thread_fds_add(&b->threads, tid, fd);
}

static void bpf_thread_del(void *state, pid_t tid)
{
	struct bpf_sampler *b = state;

	thread_fds_del(&b->threads, tid);
}

static int bpf_open(void **state, const struct sampler_opts *o, char *why, size_t n)
{
	struct bpf_sampler *b = calloc(1, sizeof(*b));
	pid_t self = gettid();
	int err;

	if (!b)
		return -ENOMEM;
	b->period_ns = NSEC_PER_SEC / o->hz;
	err = skel_load(b);
	if (err) {
		snprintf(why, n, "the BPF program cannot be loaded: %s%s", strerror(-err),
			 err == -EPERM ? " (no CAP_BPF and CAP_PERFMON)" : "");
		goto fail;
	}
	err = ring_map(b);
	if (err) {
		snprintf(why, n, "the BPF ring cannot be mapped: %s", strerror(-err));
		goto fail;
	}
	/* Whether events and programs go together shows only on a thread. */
	err = bpf_thread_add(b, self);
	if (err) {
		perf_refused(err, why, n);
		goto fail;
	}
	bpf_thread_del(b, self);
	*state = b;
	return 0;
fail:
	bpf_close(b);
	return err;
}

static void sample_from_record(struct sample *s, const struct sample_record *r)
{
	memset(s, 0, sizeof(*s));
	s->time_ns = r->time_ns;
	s->pid = r->pid;
	s->tid = r->tid;
	s->kind = r->flags & SAMPLE_RECORD_SYSCALL ? SAMPLE_SYSCALL : SAMPLE_USER;
	s->weight = 1;
	s->point.tid = r->tid;
	memcpy(s->point.regs.r, r->regs, sizeof(r->regs));
	s->point.regs.r[X86_EFLAGS] &= EFLAGS_USER;
	s->point.regs.r[X86_ORIG_RAX] = r->orig_rax;
	s->point.print = r->print;
	s->n_kernel = MIN(r->n_kernel, SAMPLE_RECORD_FRAMES);
	memcpy(s->kernel, r->kernel, s->n_kernel * sizeof(*s->kernel));
}

static int bpf_drain(void *state, sampler_fn fn, void *ctx)
{
	struct bpf_sampler *b = state;
	u64 at = *b->consumer;
	struct sample s;

	while (at != __atomic_load_n(b->producer, __ATOMIC_ACQUIRE)) {
		const u8 *p = b->data + (at & (b->size - 1));
		u32 len = __atomic_load_n((const u32 *)p, __ATOMIC_ACQUIRE);

		if (len & BPF_RINGBUF_BUSY_BIT)
			break;
		if (!(len & BPF_RINGBUF_DISCARD_BIT)) {
			sample_from_record(&s, (const void *)(p + BPF_RINGBUF_HDR_SZ));
			fn(ctx, &s);
		}
		len &= ~BPF_RINGBUF_DISCARD_BIT;
		at += (len + BPF_RINGBUF_HDR_SZ + 7) & ~7UL;
		__atomic_store_n(b->consumer, at, __ATOMIC_RELEASE);
	}
	return 0;
}

static u64 bpf_lost(void *state)
{
	struct bpf_sampler *b = state;

	return __atomic_load_n(&b->skel->bss->lost, __ATOMIC_RELAXED);
}

static u64 bpf_room(void *state)
{
	struct bpf_sampler *b = state;

	return b->size / (sizeof(struct sample_record) + BPF_RINGBUF_HDR_SZ);
}

const struct sampler_ops sampler_bpf_ops = {
	.kind = SAMPLER_BPF,
	.open = bpf_open,
	.close = bpf_close,
	.thread_add = bpf_thread_add,
	.thread_del = bpf_thread_del,
	.drain = bpf_drain,
	.lost = bpf_lost,
	.room = bpf_room,
};
