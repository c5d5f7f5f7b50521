/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * point.c - is a thread, as it stands, at a point? Cheapest question first;
 * which one fails is what point_explain() tells.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "point/point-internal.h"

enum part {
	PART_REGS,
	PART_WORDS,
	PART_STACK,
	PART_WINDOWS,
	PART_INNER,
	PART_SLOTS,
	PART_PAGES
};

static const char *const part_names[] = {
	[PART_REGS] = "registers",     [PART_WORDS] = "word",
	[PART_STACK] = "stack",	       [PART_WINDOWS] = "memory at a register",
	[PART_INNER] = "inner memory", [PART_SLOTS] = "memory at a stack slot",
	[PART_PAGES] = "page",
};

struct mismatch {
	enum part part;
	u64 addr;    /* of the word or page */
	bool faults; /* it could not be read */
};

void point_fini(struct point *p)
{
	free(p->pages);
	p->pages = NULL;
	p->n_pages = 0;
}

static bool words_match(const struct point *p, point_read_fn read, void *ctx,
			struct mismatch *m)
{
	u64 v;

	m->part = PART_WORDS;
	for (u32 i = 0; i < p->n_words; i++) {
		m->addr = p->words[i].addr;
		m->faults = read(ctx, m->addr, &v, sizeof(v));
		if (m->faults || v != p->words[i].value)
			return false;
	}
	return true;
}

static bool print_matches(const struct point *p, const struct regs *regs,
			  point_read_fn read, void *ctx, struct mismatch *m)
{
	struct print now = {0};
	struct print_slots slots;

	m->part = PART_STACK;
	m->faults = print_stack(&now, &slots, regs, p->print.valid, read, ctx);
	if (m->faults || now.stack != p->print.stack)
		return false;
	m->faults = print_windows(&now, regs, p->print.valid, read, ctx);
	m->part = PART_WINDOWS;
	if (now.windows != p->print.windows)
		return false;
	m->part = PART_INNER;
	if (m->faults || now.inner != p->print.inner)
		return false;
	m->part = PART_SLOTS;
	m->faults = print_slots(&now, &slots, regs, p->print.valid, read, ctx);
	return !m->faults && now.slots == p->print.slots;
}

static bool pages_match(const struct point *p, point_read_fn read, void *ctx,
			struct mismatch *m)
{
	u8 page[PAGE_BYTES];

	m->part = PART_PAGES;
	for (u32 i = 0; i < p->n_pages; i++) {
		m->addr = p->pages[i].addr;
		m->faults = read(ctx, m->addr, page, sizeof(page));
		if (m->faults || XXH3_64bits(page, sizeof(page)) != p->pages[i].hash)
			return false;
	}
	return true;
}

static bool matches(const struct point *p, const struct regs *regs, point_read_fn read,
		    void *ctx, struct mismatch *m)
{
	*m = (struct mismatch){.part = PART_REGS};
	return regs_equal(&p->regs, regs) && words_match(p, read, ctx, m) &&
	       print_matches(p, regs, read, ctx, m) && pages_match(p, read, ctx, m);
}

int point_matches(const struct point *p, const struct regs *regs, point_read_fn read,
		  void *ctx)
{
	struct mismatch m;

	return matches(p, regs, read, ctx, &m);
}

void point_explain(const struct point *p, const struct regs *regs, point_read_fn read,
		   void *ctx, char *out, size_t n)
{
	struct mismatch m;
	const char *how;

	if (matches(p, regs, read, ctx, &m)) {
		snprintf(out, n, "nothing differs");
		return;
	}
	how = m.faults ? "cannot be read" : "differs";
	if (m.part == PART_REGS) {
		int at = snprintf(out, n, "registers differ: ");

		if ((size_t)at < n)
			regs_diff(&p->regs, regs, out + at, n - at);
	} else if (m.part == PART_WORDS || m.part == PART_PAGES) {
		snprintf(out, n, "%s %#lx %s", part_names[m.part], m.addr, how);
	} else {
		snprintf(out, n, "%s %s", part_names[m.part], how);
	}
}
