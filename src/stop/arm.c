/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From conditions to sites, and sites into the task.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "stop/internal.h"

static struct site *site_get(struct stops *s, u64 ip)
{
	struct site *t = site_at(s, ip);

	if (t)
		return t;
	t = &s->sites[s->n_sites++];
	*t = (struct site){.ip = ip, .slot = -1};
	return t;
}

static int site_cmp(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

static void sites_collect(struct stops *s)
{
	s->n_sites = 0;
	for (int i = 0; i < STOPS_MAX_CONDS; i++)
		if (s->conds[i].used)
			site_get(s, s->conds[i].c.ip)->conds |= 1UL << i;
	for (int i = 0; i < STOPS_MAX_EXEC; i++)
		if (s->execs[i].used)
			site_get(s, s->execs[i].addr)->execs |= 1u << i;
	qsort(s->sites, s->n_sites, sizeof(s->sites[0]), site_cmp);
}

static void site_set_way(struct stops *s, const struct site *t, enum stop_way way)
{
	for (int i = 0; i < STOPS_MAX_CONDS; i++)
		if (t->conds & 1UL << i)
			s->conds[i].way = way;
}

static int site_arm_int3(struct stops *s, struct site *t)
{
	static const u8 int3 = 0xcc;
	int err = patch_add(s, t->ip, &int3, 1);

	if (err == -ESRCH)
		return err;
	if (!err) {
		t->kind = SITE_INT3;
		return 0;
	}
	/* Bytes that cannot be written (a shared mapping without the right). */
	t->slot = debugreg_alloc(s, WATCH_EXEC, t->ip, 1, DR_SITE);
	if (t->slot < 0) {
		log_error("no way to stop at %#lx: %s, and no debug register is free",
			  t->ip, strerror(-err));
		return t->slot;
	}
	t->kind = SITE_HW;
	return 0;
}

static bool is_plain(const struct stops *s, const struct site *t)
{
	for (int i = 0; i < STOPS_MAX_CONDS; i++) {
		const struct stop_cond *c = &s->conds[i].c;

		if (t->conds & 1UL << i && !c->match_regs && !c->n_words && !c->pass &&
		    !c->count_only)
			return true;
	}
	return t->execs;
}

/* Setting BPF up costs milliseconds: where few pass, int3 is cheaper. */
static bool bpf_wanted(const struct stops *s, const struct site *t)
{
	if (is_plain(s, t))
		return false;
	/* A data watch that fires in front of a counted place is resumed from
	 * there, where the breakpoint then counts once more. */
	for (int i = 0; i < STOPS_MAX_WATCHES; i++)
		if (s->watches[i].used)
			return false;
	if (s->force == STOP_BPF)
		return true;
	for (u32 i = 0; i < ARRAY_SIZE(s->busy) && s->force == STOP_AUTO; i++)
		if (s->busy[i] == t->ip)
			return true;
	return false;
}

/* *@n: how many sites from @t on are served now. */
static int site_arm(struct stops *s, struct site *t, u32 *n)
{
	int err = -ENOTSUP;

	*n = 1;
	if (tramp_wanted(s, t))
		err = tramp_arm(s, t, n);
	if (err == -ESRCH)
		return err;
	if (!err) {
		for (u32 i = 0; i < *n; i++)
			site_set_way(s, &t[i], STOP_TRAMPOLINE);
		return 0;
	}
	*n = 1;
	if (bpf_wanted(s, t) && !bpf_arm(s, t)) {
		site_set_way(s, t, STOP_BPF);
		return 0;
	}
	err = site_arm_int3(s, t);
	if (!err)
		site_set_way(s, t, STOP_PTRACE);
	return err;
}

int stops_arm(struct stops *s)
{
	int err;

	if (s->armed && !s->dirty)
		return 0;
	err = stops_clean(s);
	if (err)
		return err;
	sites_collect(s);
	s->armed = true;
	s->dirty = false;
	for (u32 i = 0, n; i < s->n_sites && !err; i += n)
		err = site_arm(s, &s->sites[i], &n);
	if (!err)
		err = debugreg_load(s);
	return err;
}

int stops_clean(struct stops *s)
{
	int err = 0, err2;

	if (!s->armed)
		return 0;
	s->armed = false;
	if (!s->dead) {
		err = patch_lift(s, 0, ~0UL);
		err2 = debugreg_unload(s);
		if (!err)
			err = err2;
	}
	bpf_disarm(s);
	err2 = tramp_disarm(s);
	if (!err)
		err = err2;
	for (int i = 0; i < 4; i++)
		if (s->dr_owner[i] == DR_SITE)
			debugreg_free(s, i);
	patch_forget(s);
	s->n_sites = 0;
	return err == -ESRCH ? 0 : err;
}
