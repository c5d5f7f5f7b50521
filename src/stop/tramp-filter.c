// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * In front of a check: a sum of the registers, each with a weight of its own,
 * against the sum wanted. It needs one register and no flags, so nearly every
 * pass is sent away without the saving and comparing of the check itself:
 *
 *   mov %rcx, save_rcx
 *   lea (%reg, %rcx, 2), %rcx	for each register
 *   lea -wanted(%rcx), %ecx; jrcxz slow
 *   mov save_rcx, %rcx; jmp copy
 */
#include <errno.h>

#include "stop/internal.h"

/* The processor's numbers in the order of enum reg. */
static const u8 hw_number[16] = {0, 3, 1, 2, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15};

/* lea (%reg, %rcx, 2), %rcx */
static void emit_lea(struct wbuf *out, u8 n)
{
	bool disp = (n & 7) == 5; /* rbp and r13 cannot be without */

	wbuf_u8(out, 0x48 | (n >= 8));
	wbuf_u8(out, 0x8d);
	wbuf_u8(out, disp ? 0x4c : 0x0c);
	wbuf_u8(out, 0x48 | (n & 7));
	if (disp)
		wbuf_u8(out, 0);
}

/* mov %reg, %rcx */
static void emit_mov(struct wbuf *out, u8 n)
{
	wbuf_u8(out, 0x48 | (n >= 8 ? 4 : 0));
	wbuf_u8(out, 0x89);
	wbuf_u8(out, 0xc1 | (n & 7) << 3);
}

/* Those that differ now are those that vary: they must be among the few. */
static u32 choose(const struct stop_cond *c, const struct regs *now)
{
	u32 set = 0;
	int n = 0;

	for (int differs = 1; differs >= 0; differs--)
		for (int r = X86_RAX; r <= X86_R15 && n < TRAMP_FILTER_REGS; r++)
			if (!(c->ignore & 1u << r) &&
			    (now->r[r] != c->regs.r[r]) == differs) {
				set |= 1u << r;
				n++;
			}
	return set;
}

bool tramp_can_filter(const struct stop_cond *c)
{
	return c->match_regs && ~c->ignore & 0xffff;
}

void tramp_emit_sum(struct wbuf *out, const struct stop_cond *c, const struct regs *now)
{
	u32 set = choose(c, now);
	bool first = !(set & 1u << X86_RCX);
	u64 sum = first ? 0 : c->regs.r[X86_RCX];

	for (int r = X86_RAX; r <= X86_R15; r++) {
		if (!(set & 1u << r) || r == X86_RCX)
			continue;
		if (first)
			emit_mov(out, hw_number[r]);
		else
			emit_lea(out, hw_number[r]);
		sum = c->regs.r[r] + (first ? 0 : 2 * sum);
		first = false;
	}
	wbuf_bytes(out, "\x8d\x89", 2);
	wbuf_u32(out, -(u32)sum);
}
