/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * target.c - a point as a condition to stop at, and the check at the stop.
 *
 * A rep string instruction is one instruction to a breakpoint, but a thread
 * may be sampled or preempted between its iterations. Such a point is met at
 * the first iteration by all registers but the counters; the instruction is
 * then run for the difference alone.
 */
#include <errno.h>
#include <string.h>

#include "replay/replay.h"

#define BIT(n) (1U << (n))

struct string_op {
	u8 opcode; /* of the one-byte form; the next one is the wide form */
	u32 moves; /* which registers count along */
	u32 sets;  /* what else it leaves behind */
};

static const struct string_op string_ops[] = {
	{0xa4, BIT(X86_RSI) | BIT(X86_RDI), 0		     }, /* movs */
	{0xa6, BIT(X86_RSI) | BIT(X86_RDI), BIT(X86_EFLAGS)}, /* cmps */
	{0xaa, BIT(X86_RDI),		     0	      }, /* stos */
	{0xac, BIT(X86_RSI),		     BIT(X86_RAX)	 }, /* lods */
	{0xae, BIT(X86_RDI),		     BIT(X86_EFLAGS)}, /* scas */
};

static void find_rep(struct target *g, const u8 *code, size_t n)
{
	bool rep = false, word = false, wide = false;
	size_t i = 0;

	for (; i < n; i++) {
		if (code[i] == 0xf2 || code[i] == 0xf3)
			rep = true;
		else if (code[i] == 0x66)
			word = true;
		else
			break;
	}
	if (i < n && (code[i] & 0xf0) == 0x40)
		wide = code[i++] & 8;
	if (!rep || i >= n)
		return;
	for (size_t k = 0; k < ARRAY_SIZE(string_ops); k++) {
		const struct string_op *op = &string_ops[k];

		if ((code[i] & 0xfe) != op->opcode)
			continue;
		g->rep_len = i + 1;
		g->rep_size = !(code[i] & 1) ? 1 : wide ? 8 : word ? 2 : 4;
		g->rep_moves = op->moves;
		g->cond.ignore = BIT(X86_RCX) | op->moves | op->sets;
	}
}

int target_init(struct target *g, const struct point *p, struct thread *th)
{
	u64 ip = p->regs.r[X86_RIP];
	u8 code[16];
	size_t n = sizeof(code);

	*g = (struct target){.point = p};
	g->cond = (struct stop_cond){.ip = ip,
				     .match_regs = true,
				     .regs = p->regs,
				     .n_words = MIN(p->n_words, (u32)POINT_MAX_WORDS)};
	memcpy(g->cond.words, p->words, sizeof(g->cond.words));
	/* Code may end at the end of a mapping. */
	while (n && space_read(th->space, ip, code, n))
		n--;
	find_rep(g, code, n);
	/* Words may lie in what the instruction has yet to write. */
	if (g->rep_len)
		g->cond.n_words = 0;
	g->cond.has_print = !g->rep_len;
	g->cond.print = p->print;
	return n ? 0 : -ENOENT;
}

u32 rep_length(struct thread *th, u64 ip)
{
	struct point p = {.regs = {.r = {[X86_RIP] = ip}}};
	struct target g;

	return target_init(&g, &p, th) ? 0 : g.rep_len;
}

/*
 * A print reads up to 140 pieces of 64 bytes, from few pages. One check of one
 * stopped thread reads each page once.
 */
#define CACHE_PAGES 64

struct cached_page {
	u64 addr;
	u32 check; /* the check that read it */
	u8 data[PAGE_BYTES];
};

static struct cached_page cache[CACHE_PAGES];
static u32 cache_check;

static const u8 *cached(struct space *s, u64 page)
{
	struct cached_page *c = &cache[page / PAGE_BYTES % CACHE_PAGES];

	if (c->check == cache_check && c->addr == page)
		return c->data;
	c->check = 0;
	if (space_read(s, page, c->data, PAGE_BYTES))
		return NULL;
	c->addr = page;
	c->check = cache_check;
	return c->data;
}

static int read_space(void *ctx, u64 addr, void *buf, size_t n)
{
	while (n) {
		size_t at = addr % PAGE_BYTES, part = MIN(n, PAGE_BYTES - at);
		const u8 *page = cached(ctx, addr - at);

		if (!page)
			return -EFAULT;
		memcpy(buf, page + at, part);
		addr += part;
		buf = (u8 *)buf + part;
		n -= part;
	}
	return 0;
}

/* What was read before is of another stop. */
static void cache_drop(void)
{
	if (!++cache_check) {
		memset(cache, 0, sizeof(cache));
		cache_check = 1;
	}
}

int target_here(const struct target *g, struct thread *th)
{
	if (!regs_equal(&g->point->regs, &th->regs))
		return 0;
	cache_drop();
	return point_matches(g->point, &th->regs, read_space, th->space);
}

bool target_near(const struct target *g, const struct thread *th)
{
	struct regs r = th->regs;

	for (int i = 0; i < NR_REGS; i++)
		if (g->cond.ignore & BIT(i))
			r.r[i] = g->cond.regs.r[i];
	return regs_equal(&r, &g->cond.regs);
}

void target_explain(const struct target *g, struct thread *th, char *out, size_t n)
{
	cache_drop();
	point_explain(g->point, &th->regs, read_space, th->space, out, n);
}

/* How many iterations lie between @now and the point; -1: it is no later one. */
static s64 rep_ahead(const struct target *g, const struct regs *now)
{
	const struct regs *want = &g->point->regs;
	u64 n = now->r[X86_RCX] - want->r[X86_RCX];
	/* Direction flag: downwards. */
	u64 by = (now->r[X86_EFLAGS] & 0x400) ? -(n * g->rep_size) : n * g->rep_size;

	if (n > now->r[X86_RCX])
		return -1;
	for (int r = X86_RSI; r <= X86_RDI; r++)
		if (want->r[r] != now->r[r] + ((g->rep_moves & BIT(r)) ? by : 0))
			return -1;
	return n;
}

int rep_run_seeing(struct timeline *t, struct thread *th, u32 len, u64 n, rep_seen_fn seen,
		   void *ctx)
{
	struct stops_run_opts o = {.interrupt = t->opts.interrupt};
	u64 left = th->regs.r[X86_RCX] - n, ip = th->regs.r[X86_RIP];
	struct stop_cond end = {.ip = ip + len};
	struct regs r = th->regs;
	struct stop_result res;
	int err, id;

	err = space_load(th, t->opts.force);
	if (!err)
		err = stops_add(th->space->stops, &end, &id);
	if (err)
		return err;
	r.r[X86_RCX] = n;
	t->strayed = true;
	thread_set_regs(th, &r);
	err = space_load(th, t->opts.force);
	do {
		if (!err)
			err = stops_run(th->space->stops, &o, &res);
		if (!err)
			th->regs = res.regs;
		if (!err && seen)
			seen(ctx, th, &res);
		/* A watchpoint hit by the last iteration is told past the end. */
	} while (!err && res.regs.r[X86_RIP] == ip &&
		 (res.kind == STOPPED_WATCH || res.kind == STOPPED_STEP ||
		  res.kind == STOPPED_COND));
	stops_remove(th->space->stops, id);
	if (err)
		return err;
	if (res.kind == STOPPED_TIME)
		return -EINTR;
	if ((res.kind != STOPPED_COND && res.kind != STOPPED_WATCH) ||
	    th->regs.r[X86_RIP] != end.ip)
		return -EIO;
	r = th->regs;
	/* A compare may have ended it early; the check that follows tells. */
	r.r[X86_RCX] += left;
	r.r[X86_RIP] = ip;
	thread_set_regs(th, &r);
	return space_load(th, t->opts.force);
}

int rep_run(struct timeline *t, struct thread *th, u32 len, u64 n)
{
	return rep_run_seeing(t, th, len, n, NULL, NULL);
}

int target_check(struct timeline *t, struct target *g, struct thread *th)
{
	s64 n;
	int err;

	t->rep_done = 0;
	if (!g->rep_len)
		return target_here(g, th);
	n = rep_ahead(g, &th->regs);
	if (n < 0)
		return 0;
	t->rep_done = n;
	err = n ? rep_run(t, th, g->rep_len, n) : 0;
	return err ? err : target_here(g, th);
}
