/* SPDX-License-Identifier: MIT OR GPL-2.0-or-later */
/*
 * print-hash.h - the arithmetic of the print, compiled twice: by clang for
 * the kernel and by the host compiler for the supervisor. What gets hashed
 * is in print.h.
 *
 * Bytes are taken in blocks of eight little-endian words by four lanes, so
 * that four multiplications are in flight. BPF has neither a rotation nor a
 * 128-bit product; multiply and fold down is the cheapest step that mixes both
 * ways. Each step is a bijection of the lane for a given word and of the word
 * for a given lane, and so is the end in each lane: two inputs of one length
 * that differ in one word only never have the same hash.
 *
 * Needs u64/u32 of its includer, like print.h.
 */
#ifndef PLAYHEAD_PRINT_HASH_H
#define PLAYHEAD_PRINT_HASH_H

#include "print.h"

#ifdef __bpf__
#define print_inline static __attribute__((always_inline)) inline
#else
#define print_inline static inline
#endif

#define PRINT_BLOCK	  64
#define PRINT_BLOCK_WORDS (PRINT_BLOCK / 8)
#define PRINT_PAGE	  4096UL

#define PRINT_MUL 0x9fb21c651e98df25UL

struct print_hash {
	u64 a, b, c, d;
};

print_inline void print_hash_init(struct print_hash *h)
{
	h->a = 0x243f6a8885a308d3UL;
	h->b = 0x13198a2e03707344UL;
	h->c = 0xa4093822299f31d0UL;
	h->d = 0x082efa98ec4e6c89UL;
}

print_inline u64 print_mix(u64 lane, u64 word)
{
	lane = (lane ^ word) * PRINT_MUL;
	return lane ^ (lane >> 32);
}

/* @w: PRINT_BLOCK_WORDS words. */
print_inline void print_hash_block(struct print_hash *h, const u64 *w)
{
	h->a = print_mix(h->a, w[0]);
	h->b = print_mix(h->b, w[1]);
	h->c = print_mix(h->c, w[2]);
	h->d = print_mix(h->d, w[3]);
	h->a = print_mix(h->a, w[4]);
	h->b = print_mix(h->b, w[5]);
	h->c = print_mix(h->c, w[6]);
	h->d = print_mix(h->d, w[7]);
}

/* @bytes: how many went in, before the last block was filled up with zeros. */
print_inline u64 print_hash_end(const struct print_hash *h, u64 bytes)
{
	u64 x = print_mix(bytes, h->a);

	x = print_mix(x, h->b);
	x = print_mix(x, h->c);
	x = print_mix(x, h->d);
	return print_mix(x, 0);
}

/*
 * The address of the window that the word @v of a thread with stack pointer
 * @rsp points to, or 0. Tag bits are dropped, and so is what lies in the
 * 16 KiB under the red zone: dead stack, where nothing that the program can
 * still see is kept.
 */
print_inline u64 print_window(u64 v, u64 rsp)
{
	v &= ~7UL;
	if (v < PRINT_LOW || v >= PRINT_HIGH)
		return 0;
	if (v - PRINT_AGENT < PRINT_AGENT_SIZE)
		return 0;
	if (rsp - PRINT_RED_ZONE - 1 - v < PRINT_STACK_BYTES)
		return 0;
	return v;
}

/* Bytes of the stack piece at @addr, when @done bytes came before it. */
print_inline u64 print_stack_piece(u64 addr, u64 done)
{
	u64 page = PRINT_PAGE - (addr & (PRINT_PAGE - 1));
	u64 left = PRINT_STACK_BYTES - done;

	return page < left ? page : left;
}

#endif
