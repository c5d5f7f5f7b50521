/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * print.c - the print on the supervisor's side. bpf/sample.bpf.c does the same
 * in the kernel; the rules are in bpf/print.h and bpf/print-hash.h.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "point/point-internal.h"
#include "bpf/print-hash.h"

_Static_assert(PRINT_WINDOW == PRINT_BLOCK, "a window is hashed as one block");

const u8 print_window_regs[PRINT_WINDOWS] = {
	X86_RAX, X86_RBX, X86_RCX, X86_RDX, X86_RSI, X86_RDI, X86_RBP, X86_R8,
	X86_R9,	 X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15,
};

int print_stack(struct print *out, struct print_slots *slots, const struct regs *regs,
		const u64 *valid, point_read_fn read, void *ctx)
{
	u64 words[(PRINT_STACK_BYTES + PRINT_BLOCK) / 8];
	u64 addr = regs->r[X86_RSP], done = 0;
	struct print_hash h;

	for (int i = 0; i < PRINT_STACK_PIECES; i++) {
		u64 n = print_stack_piece(addr, done);

		if (!n || addr < PRINT_LOW || addr >= PRINT_HIGH)
			break;
		if (valid && !(valid[0] & PRINT_VALID_STACK(i)))
			break;
		if (read(ctx, addr, (u8 *)words + done, n))
			break;
		out->valid[0] |= PRINT_VALID_STACK(i);
		addr += n;
		done += n;
	}
	slots->n = MIN(done / 8, (u64)PRINT_SLOTS);
	memcpy(slots->words, words, slots->n * 8);
	memset((u8 *)words + done, 0, PRINT_BLOCK);
	print_hash_init(&h);
	for (u64 i = 0; i < done; i += PRINT_BLOCK)
		print_hash_block(&h, words + i / 8);
	out->stack = done ? print_hash_end(&h, done) : 0;
	return valid && (valid[0] ^ out->valid[0]) & PRINT_VALID_STACKS ? -EFAULT : 0;
}

/* One window: @v may point to it. 1: taken, in @w; 0: not. */
static int take_window(struct print_hash *h, u64 v, u64 rsp, u64 *w, point_read_fn read,
		       void *ctx)
{
	u64 addr = print_window(v, rsp);

	if (!addr || read(ctx, addr, w, PRINT_WINDOW))
		return 0;
	print_hash_block(h, w);
	return 1;
}

static void print_inner(struct print *out, struct print_hash *h, int window,
			const u64 *words, u64 rsp, const u64 *valid, point_read_fn read,
			void *ctx)
{
	u64 w[PRINT_WORDS];

	for (int i = 0; i < PRINT_WORDS; i++) {
		int bit = window * PRINT_WORDS + i;
		u64 mask = 1UL << (bit & 63);

		if (valid && !(valid[1 + bit / 64] & mask))
			continue;
		if (take_window(h, words[i], rsp, w, read, ctx))
			out->valid[1 + bit / 64] |= mask;
	}
}

int print_windows(struct print *out, const struct regs *regs, const u64 *valid,
		  point_read_fn read, void *ctx)
{
	u64 w[PRINT_WORDS], rsp = regs->r[X86_RSP];
	struct print_hash outer, inner;

	print_hash_init(&outer);
	print_hash_init(&inner);
	for (int i = 0; i < PRINT_WINDOWS; i++) {
		if (valid && !(valid[0] & PRINT_VALID_WINDOW(i)))
			continue;
		if (!take_window(&outer, regs->r[print_window_regs[i]], rsp, w, read, ctx))
			continue;
		out->valid[0] |= PRINT_VALID_WINDOW(i);
		print_inner(out, &inner, i, w, rsp, valid, read, ctx);
	}
	if (out->valid[0] & PRINT_VALID_WINDOWS)
		out->windows = print_hash_end(&outer, 0);
	if (out->valid[1] | out->valid[2])
		out->inner = print_hash_end(&inner, 0);
	if (!valid)
		return 0;
	if ((valid[0] ^ out->valid[0]) & PRINT_VALID_WINDOWS)
		return -EFAULT;
	return valid[1] != out->valid[1] || valid[2] != out->valid[2] ? -EFAULT : 0;
}

/* While recording: is this window there already, or the time for it over? */
static bool slot_skipped(u64 addr, u64 before, const struct regs *regs)
{
	for (int i = 0; i < PRINT_WINDOWS; i++)
		if (addr == print_window(regs->r[print_window_regs[i]], regs->r[X86_RSP]))
			return true;
	return addr == before;
}

static bool wanted(const u64 *valid, int bit)
{
	return !valid || (valid[bit / 64] & 1UL << (bit & 63));
}

/* Bits of valid[] from its first word on. */
#define SLOT_BIT(i)	 (3 * 64 + (i))
#define SLOT_WORD_BIT(i) (4 * 64 + (i))

int print_slots(struct print *out, const struct print_slots *slots, const struct regs *regs,
		const u64 *valid, point_read_fn read, void *ctx)
{
	u64 w[PRINT_WORDS], unused[PRINT_WORDS], rsp = regs->r[X86_RSP], before = 0;
	int reads = 0, most = valid ? INT_MAX : PRINT_SLOT_READS;
	struct print_hash h;

	print_hash_init(&h);
	for (u32 i = 0; i < slots->n && reads < most; i++) {
		u64 addr = print_window(slots->words[i], rsp);

		if (!addr || !wanted(valid, SLOT_BIT(i)))
			continue;
		if (!valid && slot_skipped(addr, before, regs))
			continue;
		before = addr;
		reads++;
		if (!take_window(&h, addr, rsp, w, read, ctx)) {
			reads += PRINT_SLOT_FAULT - 1;
			continue;
		}
		out->valid[3] |= 1UL << i;
		for (int k = 0; k < PRINT_WORDS && reads < most; k++) {
			int bit = SLOT_WORD_BIT(i * PRINT_WORDS + k);

			if (!print_window(w[k], rsp) || !wanted(valid, bit))
				continue;
			reads++;
			if (take_window(&h, w[k], rsp, unused, read, ctx))
				out->valid[bit / 64] |= 1UL << (bit & 63);
			else
				reads += PRINT_SLOT_FAULT - 1;
		}
	}
	if (out->valid[3])
		out->slots = print_hash_end(&h, 0);
	return valid && memcmp(valid + 3, out->valid + 3, (PRINT_VALID - 3) * 8) ? -EFAULT
										 : 0;
}

int print_compute(struct print *out, const struct regs *regs, const u64 valid[PRINT_VALID],
		  point_read_fn read, void *ctx)
{
	struct print_slots slots;
	int err[3];

	memset(out, 0, sizeof(*out));
	err[0] = print_stack(out, &slots, regs, valid, read, ctx);
	err[1] = print_windows(out, regs, valid, read, ctx);
	err[2] = print_slots(out, &slots, regs, valid, read, ctx);
	return err[0] ? err[0] : err[1] ? err[1] : err[2];
}
