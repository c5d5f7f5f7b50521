/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "stop/internal.h"

struct site *site_at(struct stops *s, u64 ip)
{
	for (u32 i = 0; i < s->n_sites; i++)
		if (s->sites[i].ip == ip)
			return &s->sites[i];
	return NULL;
}

static bool regs_hold(const struct stop_cond *c, const struct regs *now)
{
	struct regs r = *now;

	for (int i = 0; i < NR_REGS; i++)
		if (c->ignore & 1u << i)
			r.r[i] = c->regs.r[i];
	return regs_equal(&r, &c->regs);
}

static bool cond_holds(struct stops *s, const struct stop_cond *c)
{
	if (c->match_regs && !regs_hold(c, &s->now))
		return false;
	for (u32 i = 0; i < c->n_words; i++) {
		u64 v;

		if (stops_read(s, c->words[i].addr, &v, sizeof(v)) ||
		    v != c->words[i].value)
			return false;
	}
	return true;
}

static void cond_arrive(struct stops *s, struct cond *c)
{
	c->seen = true;
	c->held = false;
	if (!cond_holds(s, &c->c))
		return;
	c->count++;
	c->held = !c->c.count_only && (!c->c.pass || c->count == c->c.pass);
}

u64 eval_arrival(struct stops *s, int *exec)
{
	u64 ip = s->now.r[X86_RIP], bits = 0;

	*exec = -1;
	for (int i = 0; i < STOPS_MAX_CONDS; i++) {
		struct cond *c = &s->conds[i];

		if (!c->used || c->c.ip != ip)
			continue;
		if (c->seen && !c->due)
			continue;
		if (!c->seen)
			cond_arrive(s, c);
		c->due = false;
		if (c->held)
			bits |= 1UL << i;
	}
	for (int i = 0; i < STOPS_MAX_EXEC && *exec < 0; i++)
		if (s->execs[i].used && s->execs[i].addr == ip)
			*exec = EXEC_WATCH_ID + i;
	return bits;
}

void eval_moved(struct stops *s)
{
	for (int i = 0; i < STOPS_MAX_CONDS; i++)
		s->conds[i].seen = false;
}

/* The thread is to move on from here: nothing here is looked at any more. */
void eval_leave(struct stops *s)
{
	for (int i = 0; i < STOPS_MAX_CONDS; i++)
		if (s->conds[i].used && s->conds[i].c.ip == s->now.r[X86_RIP])
			s->conds[i].seen = true;
}

void eval_confirm(struct stops *s, struct cond *c)
{
	if (!c->c.match_regs || regs_hold(&c->c, &s->now))
		return;
	c->count--;
	c->held = false;
}
