/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tramp-hash.h - parts of a print looked at in the task. Where all registers
 * are those of a condition, the memory that they reach lies at addresses that
 * are known when the trampoline is made.
 */
#ifndef PLAYHEAD_STOP_TRAMP_HASH_H
#define PLAYHEAD_STOP_TRAMP_HASH_H

#include "base/buf.h"
#include "bpf/print.h"
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

/* What the words of the windows point to; only behind equal windows. */
#define TRAMP_INNER_SITES 8
/* The code around a site that a window may show together with armed bytes. */
#define TRAMP_NEAR_BEFORE 96
#define TRAMP_NEAR_BYTES  (2 * TRAMP_NEAR_BEFORE)

struct tramp_inner {
	u32 n;
	u64 words[PRINT_INNER]; /* where the words are; 0: it is in literal[] */
	u64 literal[PRINT_INNER];
	u32 n_sites;
	u64 sites[TRAMP_INNER_SITES];
	/* The bytes around a site as the program sees them, where it cannot
	 * write them itself. */
	bool copied[TRAMP_INNER_SITES];
	u8 copy[TRAMP_INNER_SITES][TRAMP_NEAR_BYTES];
	u64 expect;
};

/* @windows: what part 0 gave. -ENODATA as above. */
int tramp_inner(struct stops *s, const struct stop_cond *c,
		const struct tramp_ranges *windows, struct tramp_inner *out) __must_check;
/* As tramp_emit_hash(). Where one shows armed code that is not copied it says
 * equal: the supervisor decides. */
int tramp_emit_inner(struct wbuf *out, u64 at, const struct tramp_inner *in) __must_check;

#endif
