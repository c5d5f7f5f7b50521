/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * point-internal.h - the two halves of a print, for whoever can stop after
 * the first that differs.
 */
#ifndef PLAYHEAD_POINT_INTERNAL_H
#define PLAYHEAD_POINT_INTERNAL_H

#include "point/point.h"

/* Fill stack and its bits of valid[0]; @out begins zeroed. As print_compute(). */
int print_stack(struct print *out, const struct regs *regs, const u64 *valid,
		point_read_fn read, void *ctx) __must_check;
/* Fill windows, inner and their bits. */
int print_windows(struct print *out, const struct regs *regs, const u64 *valid,
		  point_read_fn read, void *ctx) __must_check;

#endif
