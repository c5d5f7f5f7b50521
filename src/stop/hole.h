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
	struct hole *code; /* mapped executable and not writable; owned */
	size_t n_code, cap_code;
};

/* The unmapped ranges of task @tid; room for a stack that holds @rsp to grow
 * is left out. */
int holes_read(struct holes *h, pid_t tid, u64 rsp) __must_check;
/* Can the task write what is mapped at @addr? True if it is not code. */
bool holes_writable(const struct holes *h, u64 addr);
void holes_fini(struct holes *h);
/* No longer free: [@start, @end). */
int holes_take(struct holes *h, u64 start, u64 end) __must_check;

/* What each byte of a jump's displacement may be. */
struct hole_bytes {
	u8 n[4]; /* 0: anything */
	u8 v[4][64];
};

/*
 * Find an address for @size bytes of code, with @before bytes of data in the
 * pages in front of its page, whose distance from @next (the end of the jump)
 * reads as @bytes allow. The first @skip that fit are passed over. -ENOSPC.
 */
int hole_find(const struct holes *h, u64 next, const struct hole_bytes *bytes,
	      size_t before, size_t size, unsigned skip, u64 *out) __must_check;

#endif
