/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gdb-points.c - gdb's breakpoints and watchpoints on the timeline.
 */
#include <errno.h>
#include <stdlib.h>

#include <Zydis/Zydis.h>

#include "base/log.h"
#include "replay/gdb-host.h"

static int holds(void *ctx, struct timeline *t)
{
	struct host_point *hp = ctx;

	(void)t;
	return hp->p.cond(hp->p.arg);
}

static void point_drop(struct host_point *hp)
{
	for (unsigned i = 0; i < hp->n; i++)
		if (timeline_unbreak(hp->h->t, hp->ids[i]) < 0)
			log_debug("breakpoint %d does not go", hp->ids[i]);
	free(hp);
}

/* Debug registers watch 1, 2, 4 or 8 aligned bytes: cut the range so. */
static int watch_pieces(struct host_point *hp)
{
	enum watch_kind kind =
		hp->p.type == GDB_POINT_WRITE ? WATCH_WRITE : WATCH_READWRITE;
	u64 addr = hp->p.addr, end = addr + hp->p.len;

	if (!hp->p.len)
		return -EINVAL;
	while (addr < end) {
		u32 len = 8;
		int r;

		while (addr % len || addr + len > end)
			len /= 2;
		if (hp->n == HOST_PIECES)
			return -ENOSPC;
		r = timeline_watch(hp->h->t, hp->h->pid, kind, addr, len, &hp->ids[hp->n]);
		if (r < 0)
			return r;
		hp->n++;
		addr += len;
	}
	return 0;
}

int host_insert(void *ctx, const struct gdb_point *p, int *id)
{
	struct gdb_host *h = ctx;
	struct host_point *hp = calloc(1, sizeof(*hp));
	int r;

	if (!hp)
		return -ENOMEM;
	hp->h = h;
	hp->p = *p;
	hp->id = ++h->last_point;
	if (p->type == GDB_POINT_SW || p->type == GDB_POINT_HW) {
		r = timeline_break(h->t, h->pid, p->addr, p->cond ? holds : NULL, hp,
				   &hp->ids[0]);
		hp->n = !r;
	} else {
		r = watch_pieces(hp);
	}
	if (r < 0) {
		point_drop(hp);
		return r;
	}
	hp->next = h->points;
	h->points = hp;
	*id = hp->id;
	return 0;
}

int host_remove(void *ctx, int id)
{
	struct gdb_host *h = ctx;
	struct host_point **at = &h->points, *hp;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	hp = *at;
	if (!hp)
		return -ENOENT;
	*at = hp->next;
	point_drop(hp);
	return 0;
}

struct host_point *host_point_of(struct gdb_host *h, int timeline_id)
{
	for (struct host_point *hp = h->points; hp; hp = hp->next)
		for (unsigned i = 0; i < hp->n; i++)
			if (hp->ids[i] == timeline_id)
				return hp;
	return NULL;
}

struct host_point *host_point_here(struct gdb_host *h)
{
	struct regs r;

	if (timeline_regs(h->t, 0, &r) < 0)
		return NULL;
	for (struct host_point *hp = h->points; hp; hp = hp->next)
		if ((hp->p.type == GDB_POINT_SW || hp->p.type == GDB_POINT_HW) &&
		    hp->p.addr == r.r[X86_RIP] && (!hp->p.cond || hp->p.cond(hp->p.arg)))
			return hp;
	return NULL;
}

/* ---- read watchpoints: the debug registers know "any access" only ---- */

static void to_zydis(ZydisRegisterContext *z, const struct regs *r)
{
	static const ZydisRegister names[] = {
		[X86_RAX] = ZYDIS_REGISTER_RAX, [X86_RBX] = ZYDIS_REGISTER_RBX,
		[X86_RCX] = ZYDIS_REGISTER_RCX, [X86_RDX] = ZYDIS_REGISTER_RDX,
		[X86_RSI] = ZYDIS_REGISTER_RSI, [X86_RDI] = ZYDIS_REGISTER_RDI,
		[X86_RBP] = ZYDIS_REGISTER_RBP, [X86_RSP] = ZYDIS_REGISTER_RSP,
		[X86_R8] = ZYDIS_REGISTER_R8,	[X86_R9] = ZYDIS_REGISTER_R9,
		[X86_R10] = ZYDIS_REGISTER_R10, [X86_R11] = ZYDIS_REGISTER_R11,
		[X86_R12] = ZYDIS_REGISTER_R12, [X86_R13] = ZYDIS_REGISTER_R13,
		[X86_R14] = ZYDIS_REGISTER_R14, [X86_R15] = ZYDIS_REGISTER_R15,
	};

	memset(z, 0, sizeof(*z));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		z->values[names[i]] = r->r[i];
		/* Address-size prefix: the 32-bit halves are bases too. */
		z->values[names[i] - ZYDIS_REGISTER_RAX + ZYDIS_REGISTER_EAX] =
			(u32)r->r[i];
	}
}

/* Does the instruction at @r's rip read a byte of [addr, addr + len)? */
static bool instruction_reads(struct gdb_host *h, const struct regs *r, u64 addr, u32 len)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;
	ZydisRegisterContext z;
	ZydisDecoder d;
	u8 code[15];
	size_t n;

	n = h->target.read(h, r->r[X86_RIP], code, sizeof(code));
	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, code, n, &in, ops)))
		return true;
	to_zydis(&z, r);
	for (unsigned i = 0; i < in.operand_count; i++) {
		const ZydisDecodedOperand *o = &ops[i];
		ZyanU64 at;

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    !(o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) ||
		    !ZYAN_SUCCESS(
			    ZydisCalcAbsoluteAddressEx(&in, o, r->r[X86_RIP], &z, &at)))
			continue;
		if (o->mem.segment == ZYDIS_REGISTER_FS)
			at += r->r[X86_FS_BASE];
		if (o->mem.segment == ZYDIS_REGISTER_GS)
			at += r->r[X86_GS_BASE];
		if (at < addr + len && addr < at + MAX(o->size / 8, 1))
			return true;
	}
	return false;
}

int host_was_read(struct gdb_host *h, const struct host_point *p, bool backwards)
{
	struct travel_result tr;
	struct regs r;
	int err;
	bool read;

	if (backwards) { /* the instruction is about to run */
		if (timeline_regs(h->t, 0, &r) < 0)
			return 1;
		return instruction_reads(h, &r, p->p.addr, p->p.len);
	}
	err = timeline_step(h->t, 0, true, &tr);
	if (err < 0 || tr.end != TRAVEL_STEP)
		return err < 0 ? err : 1;
	err = timeline_regs(h->t, 0, &r);
	if (err < 0)
		return err;
	read = instruction_reads(h, &r, p->p.addr, p->p.len);
	err = timeline_step(h->t, 0, false, &tr);
	return err < 0 ? err : read;
}
