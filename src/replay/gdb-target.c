/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gdb-target.c - the served process: its threads, registers, memory.
 */
#include <cpuid.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "replay/gdb-host.h"
#include "replay/gdb-names.h"

_Static_assert((int)GDB_GPRS == (int)NR_REGS && (int)GDB_RIP == (int)X86_RIP,
	       "gdb has the registers in our order");

void host_say(struct gdb_host *h, const char *fmt, ...)
{
	char buf[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	gdb_server_console(h->server, buf, MIN((size_t)n, sizeof(buf) - 1));
}

static void host_output(void *ctx, int fd, const void *data, size_t n)
{
	struct gdb_host *h = ctx;

	(void)fd;
	if (h->show_output)
		gdb_server_console(h->server, data, n);
}

/* Long work: a sign of life each second. */
static void host_progress(void *ctx, u64 event, u64 events)
{
	struct gdb_host *h = ctx;
	u64 now = now_ns();

	if (!h->show_progress || now - h->progress_ns < NSEC_PER_SEC)
		return;
	h->progress_ns = now;
	host_say(h, "event %llu of %llu\n", (unsigned long long)event,
		 (unsigned long long)events);
}

/* ---- threads ---- */

static size_t host_threads(void *ctx, struct gdb_thread *v, size_t n)
{
	struct gdb_host *h = ctx;
	size_t all = timeline_threads(h->t, h->pid, NULL, NULL, 0);
	u32 *tids = calloc(all + 1, sizeof(*tids));

	if (!tids)
		return 0;
	all = MIN(all, timeline_threads(h->t, h->pid, tids, NULL, all));
	for (size_t i = 0; i < all && i < n; i++)
		v[i] = (struct gdb_thread){h->pid, tids[i]};
	free(tids);
	return all;
}

void host_present(void *ctx, struct gdb_thread *th)
{
	struct gdb_host *h = ctx;
	struct timeline_where w;

	timeline_where(h->t, &w);
	*th = (struct gdb_thread){w.pid, w.tid};
	if (w.pid != h->pid && !host_threads(h, th, 1))
		*th = (struct gdb_thread){0};
}

/* ---- registers and memory ---- */

static int host_get_gprs(void *ctx, u32 tid, u64 gpr[GDB_GPRS])
{
	struct gdb_host *h = ctx;
	struct regs regs;
	int r = timeline_regs(h->t, tid, &regs);

	if (!r)
		memcpy(gpr, regs.r, sizeof(regs.r));
	return r;
}

static int host_get_xsave(void *ctx, u32 tid, void *buf, size_t *len)
{
	struct gdb_host *h = ctx;

	return timeline_xstate(h->t, tid, buf, len);
}

static size_t host_read(void *ctx, u64 addr, void *buf, size_t n)
{
	struct gdb_host *h = ctx;
	size_t done = 0;

	if (!timeline_read(h->t, h->pid, addr, buf, n))
		return n;
	/* The range ends in a hole: what there is before it, page by page. */
	while (done < n) {
		size_t piece = MIN(n - done, PAGE_BYTES - ((addr + done) % PAGE_BYTES));

		if (timeline_read(h->t, h->pid, addr + done, (u8 *)buf + done, piece))
			break;
		done += piece;
	}
	return done;
}

static void host_released(void *ctx)
{
	struct gdb_host *h = ctx;

	if (timeline_undivert(h->t) < 0)
		log_debug("the diversion does not end");
	h->told_end = false;
}

/* ---- the XSAVE layout of the recording's CPU ---- */

static u64 this_cpu_xcr0(void)
{
	u32 lo, hi;

	__asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	return (u64)hi << 32 | lo;
}

/*
 * The trace names the components and the image's size. Where they lie is what
 * CPUID says here if that agrees, else the layout that has this size: AMD
 * packs what Intel leaves holes for.
 */
static void xsave_layout(struct gdb_xsave *x, const struct trace_meta *m)
{
	static const u32 intel[GDB_XSAVE_COMPONENTS] = {
		[2] = 576, [5] = 1088, [6] = 1152, [7] = 1664, [9] = 2688};
	static const u32 amd[GDB_XSAVE_COMPONENTS] = {
		[2] = 576, [5] = 832, [6] = 896, [7] = 1408, [9] = 2432};
	u32 a, b, c, d;

	*x = (struct gdb_xsave){.xcr0 = m->xcr0, .size = m->xstate_size};
	if (!x->xcr0)
		return;
	if (__get_cpuid_count(0xd, 0, &a, &b, &c, &d) && this_cpu_xcr0() == m->xcr0 &&
	    b == m->xstate_size) {
		for (u32 i = 2; i < GDB_XSAVE_COMPONENTS; i++)
			if ((m->xcr0 >> i & 1) && __get_cpuid_count(0xd, i, &a, &b, &c, &d))
				x->offset[i] = b;
		return;
	}
	memcpy(x->offset, m->xstate_size == 2440 ? amd : intel, sizeof(x->offset));
}

/* ---- open ---- */

static int choose_process(struct gdb_host *h, u32 pid)
{
	struct timeline_where w;

	timeline_where(h->t, &w);
	h->begin = w.event;
	h->pid = pid ? pid : w.pid;
	while (!timeline_threads(h->t, h->pid, NULL, NULL, 0)) {
		int r;

		timeline_where(h->t, &w);
		if (w.at_end) {
			log_error("the recording has no process %u", h->pid);
			return -ESRCH;
		}
		r = timeline_seek_event(h->t, w.event + 1);
		if (r < 0)
			return r;
		h->begin = w.event + 1;
	}
	return 0;
}

int gdb_host_open(struct gdb_host **out, const char *dir, const struct gdb_host_opts *o)
{
	struct gdb_host *h = calloc(1, sizeof(*h));
	struct timeline_opts to = {
		.force = o->force,
		.interrupt = gdb_server_interrupt(o->server),
		.output = host_output,
		.progress = host_progress,
	};
	int r;

	if (!h)
		return -ENOMEM;
	h->server = o->server;
	to.ctx = h;
	r = timeline_open(&h->t, dir, &to);
	if (r < 0)
		goto fail;
	h->r = timeline_reader(h->t);
	r = choose_process(h, o->pid);
	if (r < 0)
		goto fail;
	h->target = (struct gdb_target){
		.ctx = h,
		.monitor = host_monitor,
		.symbols = host_symbols,
		.threads = host_threads,
		.present = host_present,
		.get_gprs = host_get_gprs,
		.set_gprs = host_set_gprs,
		.get_xsave = host_get_xsave,
		.set_xsave = host_set_xsave,
		.read = host_read,
		.write = host_write,
		.insert = host_insert,
		.remove = host_remove,
		.resume = host_resume,
		.restart = host_restart,
		.released = host_released,
		.object = host_object,
		.open = host_open,
		.readlink = host_readlink,
		.symbol = host_symbol,
		.tls = host_tls,
	};
	xsave_layout(&h->target.xsave, trace_reader_meta(h->r));
	*out = h;
	return 0;
fail:
	gdb_host_close(h);
	return r;
}

void gdb_host_close(struct gdb_host *h)
{
	if (!h)
		return;
	names_free(h->names);
	timeline_close(h->t);
	free(h);
}

const struct gdb_target *gdb_host_target(const struct gdb_host *h)
{
	return &h->target;
}
