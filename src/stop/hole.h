/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hole.h - a free place for a trampoline, where the jump to it reads as the
 * window needs (relocate.h).
 */
#ifndef PLAYHEAD_STOP_HOLE_H
#define PLAYHEAD_STOP_HOLE_H

#include "stop/relocate.h"

struct hole {
	u64 start, end;
};

struct holes {
	struct hole *v; /* owned */
	size_t n, cap;
};

/* The unmapped ranges of task @tid; room for a stack that holds @rsp to grow
 * is left out. */
int holes_read(struct holes *h, pid_t tid, u64 rsp) __must_check;
void holes_fini(struct holes *h);
/* No longer free: [@start, @end). */
int holes_take(struct holes *h, u64 start, u64 end) __must_check;

/*
 * Find an address for @size bytes of code, with @before bytes of data in the
 * pages in front of its page, that the jump at the window can reach under its
 * constraints. -ENOSPC: none.
 */
int hole_find(const struct holes *h, const struct code_window *w, size_t before,
	      size_t size, u64 *out) __must_check;

#endif
