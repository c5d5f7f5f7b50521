/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stop/hole.h"

#define LOWEST	   0x100000UL
#define STACK_ROOM (64UL << 20)

static int add(struct holes *h, u64 start, u64 end)
{
	int err;

	start = MAX(start, LOWEST);
	if (start >= end || end - start < 3 * PAGE_BYTES)
		return 0;
	err = array_reserve(&h->v, &h->cap, h->n + 1, sizeof(*h->v));
	if (!err)
		h->v[h->n++] = (struct hole){start, end};
	return err;
}

static int add_code(struct holes *h, u64 start, u64 end)
{
	int err = array_reserve(&h->code, &h->cap_code, h->n_code + 1, sizeof(*h->code));

	if (!err)
		h->code[h->n_code++] = (struct hole){start, end};
	return err;
}

bool holes_writable(const struct holes *h, u64 addr)
{
	for (size_t i = 0; i < h->n_code; i++)
		if (addr >= h->code[i].start && addr < h->code[i].end)
			return false;
	return true;
}

int holes_read(struct holes *h, pid_t tid, u64 rsp)
{
	char path[32], line[512];
	u64 start, end, last = 0;
	char prot[5];
	int err = 0;
	FILE *f;

	memset(h, 0, sizeof(*h));
	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (!err && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &start, &end, prot) != 3)
			continue;
		if (prot[1] == '-' && prot[2] == 'x')
			err = add_code(h, start, end);
		if (err || start >= USER_TOP)
			break;
		/* A stack grows down into what is free below it; the main one
		 * may be returned to from another. */
		if ((rsp >= start && rsp < end) || strstr(line, "[stack]"))
			err = add(h, last, start > STACK_ROOM ? start - STACK_ROOM : 0);
		else
			err = add(h, last, start);
		last = end;
	}
	fclose(f);
	if (!err)
		err = add(h, last, USER_TOP - PAGE_BYTES);
	return err;
}

void holes_fini(struct holes *h)
{
	free(h->v);
	free(h->code);
	memset(h, 0, sizeof(*h));
}

/* The hole that holds @addr, or NULL. They are sorted. */
static struct hole *find(const struct holes *h, u64 addr)
{
	size_t lo = 0, hi = h->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (h->v[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < h->n && h->v[lo].start <= addr ? &h->v[lo] : NULL;
}

int holes_take(struct holes *h, u64 start, u64 end)
{
	struct hole *x = find(h, start);
	struct hole rest;
	size_t at;
	int err;

	if (!x)
		return 0;
	at = x - h->v;
	rest = (struct hole){end, x->end};
	x->end = start;
	if (rest.start >= rest.end)
		return 0;
	err = array_reserve(&h->v, &h->cap, h->n + 1, sizeof(*h->v));
	if (err)
		return err;
	memmove(&h->v[at + 2], &h->v[at + 1], (h->n - at - 1) * sizeof(*h->v));
	h->v[at + 1] = rest;
	h->n++;
	return 0;
}

static bool fits(const struct holes *h, u64 at, size_t before, size_t size)
{
	u64 start = PAGE_DOWN(at) - before, end = PAGE_UP(at + size);
	const struct hole *x;

	if (at < LOWEST + before || end >= USER_TOP)
		return false;
	x = find(h, start);
	return x && end <= x->end;
}

/* Near places first: operands relative to rip stay in reach. */
static int by_distance(const void *a, const void *b)
{
	return abs(*(const s8 *)a) - abs(*(const s8 *)b);
}

/* The values to try for byte @i, in that order. */
static unsigned choices(const struct hole_bytes *b, unsigned i, u8 out[256])
{
	if (b->n[i]) {
		memcpy(out, b->v[i], b->n[i]);
		if (i == 3)
			qsort(out, b->n[i], 1, by_distance);
		return b->n[i];
	}
	if (i < 2) {
		/* Nothing is won by trying more of the low ones. */
		out[0] = i ? 0x10 : 0x00;
		out[1] = i ? 0x90 : 0x80;
		return 2;
	}
	for (unsigned k = 0; k < 256; k++)
		/* Near first: 0, -1, 1, -2 ... as the top byte; else in order. */
		out[k] = i == 3 ? (k & 1 ? 0xff - k / 2 : k / 2) : k;
	return 256;
}

struct finder {
	const struct holes *h;
	u64 next;
	size_t before, size;
	unsigned skip;
	u8 c[4][256];
	unsigned n[4];
};

static bool try_low(struct finder *f, u32 high, u64 *out)
{
	for (unsigned b1 = 0; b1 < f->n[1]; b1++) {
		for (unsigned b0 = 0; b0 < f->n[0]; b0++) {
			s32 rel = (s32)(high | (u32)f->c[1][b1] << 8 | f->c[0][b0]);
			u64 at = f->next + (s64)rel;

			if (!fits(f->h, at, f->before, f->size) || f->skip--)
				continue;
			*out = at;
			return true;
		}
	}
	return false;
}

/* Does any hole reach into the @n bytes at @at? */
static bool any_in(const struct holes *h, u64 at, u64 n)
{
	for (size_t i = 0; i < h->n && at < USER_TOP; i++)
		if (h->v[i].start < at + n && at < h->v[i].end)
			return true;
	return false;
}

static bool try_middle(struct finder *f, u32 high, u64 *out)
{
	for (unsigned b2 = 0; b2 < f->n[2]; b2++) {
		u32 rel = high | (u32)f->c[2][b2] << 16;

		if (any_in(f->h, f->next + (s64)(s32)rel, 1u << 16) && try_low(f, rel, out))
			return true;
	}
	return false;
}

int hole_find(const struct holes *h, u64 next, const struct hole_bytes *bytes,
	      size_t before, size_t size, unsigned skip, u64 *out)
{
	struct finder f = {
		.h = h, .next = next, .before = before, .size = size, .skip = skip};

	for (unsigned i = 0; i < 4; i++)
		f.n[i] = choices(bytes, i, f.c[i]);
	for (unsigned b3 = 0; b3 < f.n[3]; b3++)
		if (any_in(h, next + (s64)(s32)((u32)f.c[3][b3] << 24), 1u << 24) &&
		    try_middle(&f, (u32)f.c[3][b3] << 24, out))
			return 0;
	return -ENOSPC;
}
