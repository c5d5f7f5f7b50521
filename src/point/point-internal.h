/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * point-internal.h - the parts of a print, for whoever can stop after
 * the first that differs.
 */
#ifndef PLAYHEAD_POINT_INTERNAL_H
#define PLAYHEAD_POINT_INTERNAL_H

#include "point/point.h"

/* The words that the slots' windows hang on. */
struct print_slots {
	u32 n;
	u64 words[PRINT_SLOTS];
};

/* Fill stack and its bits of valid[0], and @slots; @out begins zeroed. As
 * print_compute(). */
int print_stack(struct print *out, struct print_slots *slots, const struct regs *regs,
		const u64 *valid, point_read_fn read, void *ctx) __must_check;
/* Fill windows, inner and their bits. */
int print_windows(struct print *out, const struct regs *regs, const u64 *valid,
		  point_read_fn read, void *ctx) __must_check;
/* Fill slots and its bits. */
int print_slots(struct print *out, const struct print_slots *slots, const struct regs *regs,
		const u64 *valid, point_read_fn read, void *ctx) __must_check;

#endif
