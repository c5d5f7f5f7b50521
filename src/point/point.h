/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * point.h - an execution point: where one thread stands between two events.
 *
 * A profile sample, a preemption, an asynchronous signal, a bookmark and the
 * place of a Ctrl-C are all points; one seek reaches any of them. DESIGN: a
 * point is recognised by program state, not by a counter.
 */
#ifndef PLAYHEAD_POINT_H
#define PLAYHEAD_POINT_H

#include "base/base.h"
#include "arch/x86_64/regs.h"
#include "bpf/print.h"

/* A point taken while the thread was stopped also names pages and words. */
struct point_page {
	u64 addr; /* page aligned */
	u64 hash; /* XXH3 64 of its PAGE_BYTES bytes */
};

struct point_word {
	u64 addr; /* 8 readable bytes, not page crossing */
	u64 value;
};

#define POINT_MAX_WORDS 4

struct point {
	u64 event; /* number of the last event recorded before it */
	u32 tid;
	struct regs regs;
	struct print print;
	u64 ticks; /* retired conditional branches since event; 0: no PMU */
	/*
	 * Words whose value tells this pass from its neighbours; compared with
	 * the registers, before the print. All may be zero in number.
	 */
	u32 n_words;
	struct point_word words[POINT_MAX_WORDS];
	/* The strong part, owned by the point: point_fini(). */
	u32 n_pages;
	struct point_page *pages;
};

/* The register (enum reg) that each window of a print is at, in its order. */
extern const u8 print_window_regs[PRINT_WINDOWS];

void point_fini(struct point *p);

/* How a reader of the thread's memory is handed in. Returns 0 if all @n
 * bytes at @addr were read, else -EFAULT. */
typedef int (*point_read_fn)(void *ctx, u64 addr, void *buf, size_t n);

/*
 * Compute the print of @regs over memory. If @valid is given, only the pieces
 * named there are taken (replay); otherwise all that can be read (record).
 * Returns 0, or -EFAULT if a piece named in @valid cannot be read.
 */
int print_compute(struct print *out, const struct regs *regs, const u64 valid[PRINT_VALID],
		  point_read_fn read, void *ctx) __must_check;

/*
 * Does the thread, standing with @regs over this memory, stand at @p?
 * Registers, words, print, pages, in this order. Returns 1, 0 or -errno.
 */
int point_matches(const struct point *p, const struct regs *regs, point_read_fn read,
		  void *ctx) __must_check;

/* "stack differs", "page 0x... differs": why point_matches() said 0. */
void point_explain(const struct point *p, const struct regs *regs, point_read_fn read,
		   void *ctx, char *out, size_t n);

#endif
