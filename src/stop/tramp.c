/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Trampolines in the task: placing them, and their counts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/log.h"
#include "stop/hole.h"
#include "stop/internal.h"

_Static_assert(sizeof(struct tramp_data) <= PAGE_BYTES, "one data page");

static bool is_barred(const struct stops *s, u64 ip)
{
	for (u32 i = 0; i < ARRAY_SIZE(s->barred); i++)
		if (s->barred[i] == ip)
			return true;
	return false;
}

bool tramp_is_hot(void *ctx, u64 addr)
{
	const struct stops *s = ctx;

	for (u32 i = 0; i < ARRAY_SIZE(s->hot); i++)
		if (s->hot[i] == addr)
			return true;
	return false;
}

bool tramp_wanted(const struct stops *s, const struct site *site)
{
	if (s->force != STOP_AUTO && s->force != STOP_TRAMPOLINE)
		return false;
	if (is_barred(s, site->ip))
		return false;
	for (int i = 0; i < STOPS_MAX_CONDS; i++) {
		const struct stop_cond *c = &s->conds[i].c;

		if (site->conds & 1UL << i &&
		    (c->match_regs || c->n_words || c->pass || c->count_only))
			return true;
	}
	return false;
}

static int add_check(struct tramp *t, int insn, int cond)
{
	if (t->n_checks == TRAMP_CHECKS)
		return -E2BIG;
	t->checks[t->n_checks++] = (struct tramp_check){.insn = insn, .cond = cond};
	return 0;
}

/* Give the window the checks of all sites in it; they follow @site. */
static int add_checks(struct stops *s, struct tramp *t, struct site *site, u32 *n)
{
	int err = 0;

	for (*n = 0; site + *n < s->sites + s->n_sites; (*n)++) {
		const struct site *x = &site[*n];
		int k;

		if (x->ip >= t->w.addr + t->w.len)
			break;
		k = code_index(&t->w, x->ip);
		if (k < 0)
			return -ENOTSUP;
		for (int i = 0; i < STOPS_MAX_CONDS && !err; i++)
			if (x->conds & 1UL << i)
				err = add_check(t, k, i);
		if (x->execs && !err)
			err = add_check(t, k, -1);
		if (err)
			return err;
	}
	return 0;
}

static void fill_data(const struct stops *s, struct tramp *t, struct tramp_data *d)
{
	memset(d, 0, sizeof(*d));
	for (int i = 0; i < t->n_checks; i++) {
		struct tramp_values *v = &d->checks[i];
		const struct cond *c;

		if (t->checks[i].cond < 0)
			continue;
		c = &s->conds[t->checks[i].cond];
		memcpy(v->regs, c->c.regs.r, sizeof(v->regs));
		for (u32 k = 0; k < c->c.n_words; k++)
			v->words[k] = c->c.words[k].value;
		v->count = t->checks[i].pushed = c->count;
		v->pass = c->c.pass;
	}
}

static int map_at(struct stops *s, u64 at, u64 len)
{
	s64 ret;
	int err = tracee_syscall(s->tid, &ret, SYS_mmap, at, len,
				 PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return err ? err : (u64)ret == at ? 0 : -ENOSPC;
}

static int unmap_region(struct stops *s, const struct tramp *t)
{
	s64 ret;
	int err = tracee_syscall(s->tid, &ret, SYS_munmap, t->map, t->map_len, 0, 0, 0, 0);

	for (int i = 0; i < t->n_stubs && !err; i++)
		if (t->stubs[i].map_len)
			err = tracee_syscall(s->tid, &ret, SYS_munmap, t->stubs[i].map,
					     t->stubs[i].map_len, 0, 0, 0, 0);
	return err;
}

static int map_region(struct stops *s, struct tramp *t)
{
	int err;

	t->map_len = PAGE_UP(t->code + t->code_len) - t->map;
	err = map_at(s, t->map, t->map_len);
	for (int i = 0; i < t->n_stubs && !err; i++) {
		struct tramp_stub *b = &t->stubs[i];
		u64 len = PAGE_UP(b->addr + JUMP_BYTES) - b->map;

		err = map_at(s, b->map, len);
		b->map_len = err ? 0 : len;
	}
	return err;
}

/*
 * What the displacement of the jump at offset @at may read. Best is one that
 * traps at each byte (@all): code entered in the middle of an instruction, as
 * behind a lock prefix, is then seen, too.
 */
static void allowed(const struct tramp *t, const bool *set, unsigned at, bool all,
		    struct hole_bytes *b)
{
	memset(b, 0, sizeof(*b));
	for (unsigned i = 0; i < 4; i++) {
		unsigned k = at + 1 + i;
		enum cover c = code_cover(&t->w, k);

		b->n[i] = 1;
		if (set[k]) {
			b->v[i][0] = t->cover[k];
		} else if (c == COVER_JUMP) {
			b->v[i][0] = 0xe9;
		} else if (c == COVER_TRAP || all) {
			b->n[i] = n_pun_bytes;
			memcpy(b->v[i], pun_bytes, n_pun_bytes);
		} else {
			b->n[i] = 0;
		}
	}
}

static void set_jump(struct tramp *t, bool *set, unsigned at, u64 to)
{
	s32 rel = (s32)(to - (t->w.addr + at + JUMP_BYTES));

	t->cover[at] = 0xe9;
	memcpy(t->cover + at + 1, &rel, 4);
	memset(set + at, true, JUMP_BYTES);
}

/* The trampoline at the @skip-th place that fits, and the stubs behind it. */
static int try_place(struct stops *s, struct tramp *t, u32 size, bool all, unsigned skip)
{
	bool set[WINDOW_COVER] = {false};
	struct hole_bytes b;
	int err;

	allowed(t, set, 0, all, &b);
	err = hole_find(&s->holes, t->w.addr + JUMP_BYTES, &b, PAGE_BYTES, size, skip,
			&t->code);
	if (err)
		return err;
	set_jump(t, set, 0, t->code);
	t->n_stubs = 0;
	for (int k = 1; k < t->w.n; k++) {
		struct tramp_stub *stub = &t->stubs[t->n_stubs];
		unsigned at = t->w.insns[k].at;

		if (!t->w.insns[k].hot)
			continue;
		if (t->n_stubs == TRAMP_STUBS)
			return -E2BIG;
		allowed(t, set, at, all, &b);
		/* Not within the pages of the trampoline: skip on if it is. */
		for (unsigned n = 0;; n++) {
			err = hole_find(&s->holes, t->w.addr + at + JUMP_BYTES, &b, 0,
					JUMP_BYTES, n, &stub->addr);
			if (err)
				return err == -ENOSPC ? -EAGAIN : err;
			if (stub->addr + PAGE_BYTES < PAGE_DOWN(t->code) - PAGE_BYTES ||
			    stub->addr > PAGE_UP(t->code + size))
				break;
		}
		stub->insn = k;
		stub->map = PAGE_DOWN(stub->addr);
		stub->map_len = 0;
		set_jump(t, set, at, stub->addr);
		t->n_stubs++;
	}
	return 0;
}

static int place(struct stops *s, struct tramp *t)
{
	u32 size = TRAMP_BYTES(t->n_checks, t->w.n);
	int err;

	if (!s->holes_known) {
		err = holes_read(&s->holes, s->tid, s->now.r[X86_RSP]);
		if (err)
			return err;
		s->holes_known = true;
	}
	for (int all = 1; all >= 0; all--) {
		for (unsigned skip = 0; skip < 64; skip++) {
			err = try_place(s, t, size, all, skip);
			if (err != -EAGAIN)
				break;
		}
		if (!err)
			break;
	}
	if (err)
		return err == -EAGAIN ? -ENOSPC : err;
	t->code_len = size;
	t->map = t->data = PAGE_DOWN(t->code) - PAGE_BYTES;
	err = holes_take(&s->holes, t->map, PAGE_UP(t->code + size));
	for (int i = 0; i < t->n_stubs && !err; i++)
		err = holes_take(&s->holes, t->stubs[i].map,
				 PAGE_UP(t->stubs[i].addr + JUMP_BYTES));
	return err;
}

static int write_stubs(struct stops *s, const struct tramp *t)
{
	int err = 0;

	for (int i = 0; i < t->n_stubs && !err; i++) {
		const struct tramp_stub *b = &t->stubs[i];
		struct wbuf out = {0};

		err = emit_jump(&out, b->addr, t->code + t->insns[b->insn].entry);
		if (!err)
			err = tracee_write(s->tid, b->addr, out.data, out.len);
		wbuf_free(&out);
	}
	return err;
}

static int write_tramp(struct stops *s, struct tramp *t)
{
	struct wbuf out = {0};
	struct tramp_data d;
	int err;

	err = tramp_emit(s, t, &out);
	if (!err)
		err = map_region(s, t);
	if (err)
		goto out;
	fill_data(s, t, &d);
	err = tracee_write(s->tid, t->data, &d, sizeof(d));
	if (!err)
		err = tracee_write(s->tid, t->code, out.data, out.len);
	if (!err)
		err = write_stubs(s, t);
	if (!err)
		err = patch_add(s, t->w.addr, t->cover, t->w.cover);
	if (err && unmap_region(s, t))
		log_debug("a trampoline's memory stays mapped");
out:
	wbuf_free(&out);
	return err;
}

static int build(struct stops *s, struct site *site, code_hot_fn hot, u32 *n)
{
	u8 code[WINDOW_BYTES];
	struct tramp *t;
	size_t got;
	int err;

	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	got = tracee_read_some(s->tid, site->ip, code, sizeof(code));
	patch_hide(s, site->ip, code, got);
	err = code_decode(&t->w, site->ip, code, got, hot, s);
	if (!err)
		err = add_checks(s, t, site, n);
	if (!err)
		err = place(s, t);
	if (!err)
		err = write_tramp(s, t);
	if (err) {
		free(t);
		return err;
	}
	s->tramps[s->n_tramps++] = t;
	for (u32 i = 0; i < *n; i++)
		site[i].kind = SITE_TRAMP;
	return 0;
}

int tramp_arm(struct stops *s, struct site *site, u32 *n)
{
	int err;

	if (s->n_tramps == ARRAY_SIZE(s->tramps))
		return -ENOSPC;
	err = build(s, site, tramp_is_hot, n);
	if (err == -ENOSPC || err == -ENOTSUP || err == -E2BIG)
		err = build(s, site, NULL, n);
	return err;
}

int tramp_disarm(struct stops *s)
{
	int err = 0, err2;

	for (u32 i = 0; i < s->n_tramps; i++) {
		err2 = s->dead ? 0 : unmap_region(s, s->tramps[i]);
		if (!err)
			err = err2;
		free(s->tramps[i]);
	}
	s->n_tramps = 0;
	if (s->holes_known)
		holes_fini(&s->holes);
	s->holes_known = false;
	return err;
}

int tramp_pull(struct stops *s)
{
	struct tramp_data d;
	int err;

	for (u32 i = 0; i < s->n_tramps; i++) {
		struct tramp *t = s->tramps[i];

		err = tracee_read(s->tid, t->data, &d,
				  offsetof(struct tramp_data, checks[t->n_checks]));
		if (err)
			return err;
		for (int k = 0; k < t->n_checks; k++) {
			if (t->checks[k].cond < 0)
				continue;
			s->conds[t->checks[k].cond].count = d.checks[k].count;
			t->checks[k].pushed = d.checks[k].count;
		}
	}
	return 0;
}

int tramp_push(struct stops *s)
{
	for (u32 i = 0; i < s->n_tramps; i++) {
		struct tramp *t = s->tramps[i];

		for (int k = 0; k < t->n_checks; k++) {
			struct tramp_check *c = &t->checks[k];
			u64 *count,
				at = t->data + offsetof(struct tramp_data, checks[k].count);
			int err;

			if (c->cond < 0)
				continue;
			count = &s->conds[c->cond].count;
			if (*count == c->pushed)
				continue;
			err = tracee_write(s->tid, at, count, 8);
			if (err)
				return err;
			c->pushed = *count;
		}
	}
	return 0;
}
