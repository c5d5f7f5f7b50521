/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tramp-hash.h - parts of a print looked at in the task. Where all registers
 * are those of a condition, the memory that they reach lies at addresses that
 * are known when the trampoline is made.
 */
#ifndef PLAYHEAD_STOP_TRAMP_HASH_H
#define PLAYHEAD_STOP_TRAMP_HASH_H

#include "base/buf.h"
#include "stop/stop.h"

struct stops;

struct tramp_ranges {
	u32 n;
	struct {
		u64 addr, blocks; /* of PRINT_BLOCK bytes */
		bool copied;	  /* one block: its bytes are in copy[] */
	} v[PRINT_WINDOWS];
	u8 copy[PRINT_WINDOWS][PRINT_WINDOW];
	u32 tail;   /* words after the last block, filled up with zeros */
	u64 bytes;  /* for print_hash_end() */
	u64 expect; /* the hash */
};

/* @part 0: the windows, 1: the stack. -ENODATA: not to be looked at here. */
int tramp_ranges(struct stops *s, const struct stop_cond *c, int part,
		 struct tramp_ranges *out) __must_check;
/*
 * Code at @at that ends with a comparison of the hash: flags. It uses all
 * registers but rsp, and no stack.
 */
int tramp_emit_hash(struct wbuf *out, u64 at, const struct tramp_ranges *r) __must_check;

#endif
