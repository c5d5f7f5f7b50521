/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gdb-divert.c - writes lead into a copy; when that ends.
 *
 * gdb does not say whether it writes to call a function or because the user
 * changed something. A call ends with the registers put back as they were, and
 * one command may make several calls that need each other's memory (the string
 * of puts("hi") is malloc'ed first). So the copy outlives a call, and what
 * comes next decides when it asks to run: with registers changed, or with
 * memory written since the last call came back, the copy runs; with neither,
 * the calls are over and the recording runs. Going backwards or to another
 * place always goes back to the recording.
 */
#include <errno.h>

#include "replay/gdb-host.h"

static int divert(struct gdb_host *h, u32 tid)
{
	int r;

	if (timeline_diverted(h->t))
		return 0;
	h->div_tid = tid;
	r = timeline_regs(h->t, tid, &h->div_regs);
	if (!r)
		r = timeline_divert(h->t);
	h->div_written = h->div_ran = h->div_jumped = false;
	return r;
}

static bool as_it_was(struct gdb_host *h)
{
	struct regs now;

	return !timeline_regs(h->t, h->div_tid, &now) && regs_equal(&now, &h->div_regs);
}

int host_set_gprs(void *ctx, u32 tid, const u64 gpr[GDB_GPRS])
{
	struct gdb_host *h = ctx;
	struct regs regs;
	int r = divert(h, tid);

	if (r < 0)
		return r;
	r = timeline_regs(h->t, tid, &regs);
	if (r < 0)
		return r;
	h->div_jumped |= regs.r[X86_RIP] != gpr[GDB_RIP];
	memcpy(regs.r, gpr, sizeof(regs.r));
	r = timeline_set_regs(h->t, tid, &regs);
	if (!r && h->div_ran && as_it_was(h)) /* the call is over */
		h->div_ran = h->div_written = false;
	return r;
}

int host_set_xsave(void *ctx, u32 tid, const void *buf, size_t len)
{
	struct gdb_host *h = ctx;
	int r = divert(h, tid);

	return r < 0 ? r : timeline_set_xstate(h->t, tid, buf, len);
}

int host_write(void *ctx, u64 addr, const void *buf, size_t n)
{
	struct gdb_host *h = ctx;
	struct gdb_thread th;
	int r;

	host_present(h, &th);
	r = divert(h, th.tid);
	if (r < 0)
		return r;
	h->div_written = true;
	return timeline_write(h->t, h->pid, addr, buf, n);
}

int host_rejoin(struct gdb_host *h)
{
	int r;

	if (!timeline_diverted(h->t))
		return 0;
	r = timeline_undivert(h->t);
	if (!r && (h->div_written || h->div_ran))
		host_say(h,
			 "playhead: back in the recording; what was changed is undone\n");
	return r;
}

int host_divert_resume(struct gdb_host *h, bool backwards)
{
	if (!timeline_diverted(h->t))
		return 0;
	if (!backwards && (h->div_written || !as_it_was(h))) {
		h->div_ran = true;
		return 1;
	}
	return host_rejoin(h);
}
