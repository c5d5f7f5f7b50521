/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code of a trampoline. See tramp.h for its shape.
 */
#include <errno.h>
#include <string.h>

#include "stop/internal.h"

#define SAVED(field)	((u32)offsetof(struct tramp_data, field))
#define VALUE(i, field) ((u32)offsetof(struct tramp_data, checks[i].field))

/* The processor's numbers of rax rbx rcx rdx rsi rdi rbp rsp. */
static const u8 hw_number[8] = {0, 3, 1, 2, 6, 7, 5, 4};

struct emitter {
	struct tramp *t;
	struct wbuf out;
	int err;
	u32 fixups[40]; /* of jne rel32 to the end of this check */
	u32 n_fixups;
};

static u64 here(const struct emitter *e)
{
	return e->t->code + e->out.len;
}

/* An instruction that ends with a RIP-relative operand in the data page. */
static void emit_data(struct emitter *e, const void *op, size_t n, u32 off)
{
	s64 rel = (s64)(e->t->data + off - (here(e) + n + 4));

	wbuf_bytes(&e->out, op, n);
	wbuf_u32(&e->out, (u32)rel);
}

static void load_rax(struct emitter *e, u32 off)
{
	emit_data(e, "\x48\x8b\x05", 3, off);
}

static void jne_end(struct emitter *e)
{
	wbuf_bytes(&e->out, "\x0f\x85", 2);
	if (e->n_fixups < ARRAY_SIZE(e->fixups))
		e->fixups[e->n_fixups++] = e->out.len;
	else
		e->err = -E2BIG;
	wbuf_u32(&e->out, 0);
}

static void cmp_reg(struct emitter *e, int reg, u32 off)
{
	u8 n = reg < 8 ? hw_number[reg] : reg;
	u8 op[3] = {0x48 | (n >= 8 ? 4 : 0), 0x3b, 0x05 | (n & 7) << 3};

	emit_data(e, op, sizeof(op), off);
	jne_end(e);
}

/*
 * Registers that differ from the wanted ones where the thread is now are
 * those that vary: compared first, they send nearly every pass away at once.
 */
static void cmp_regs(struct emitter *e, const struct stop_cond *c, const struct regs *now,
		     int i)
{
	for (int differs = 1; differs >= 0; differs--)
		for (int r = X86_RAX; r <= X86_R15; r++)
			if (!(c->ignore & 1u << r) &&
			    (now->r[r] != c->regs.r[r]) == differs)
				cmp_reg(e, r, VALUE(i, regs) + 8 * r);
	if (c->ignore & 1u << X86_EFLAGS)
		return;
	load_rax(e, SAVED(save_flags));
	wbuf_bytes(&e->out, "\x66\x3d", 2); /* cmp $imm16, %ax */
	wbuf_u16(&e->out, tramp_flags_pack(c->regs.r[X86_EFLAGS]));
	jne_end(e);
}

static void cmp_words(struct emitter *e, const struct stop_cond *c, int i)
{
	for (u32 k = 0; k < c->n_words; k++) {
		wbuf_bytes(&e->out, "\x48\xa1", 2); /* movabs addr, %rax */
		wbuf_u64(&e->out, c->words[k].addr);
		emit_data(e, "\x48\x3b\x05", 3, VALUE(i, words) + 8 * k);
		jne_end(e);
	}
}

/* Put the registers back and leave if the hash was another. */
static void print_end(struct emitter *e, int i)
{
	/* cmp left its flags, which mov keeps. */
	for (int r = X86_RBX; r <= X86_R15; r++) {
		u8 n = r < 8 ? hw_number[r] : r;
		u8 op[3] = {0x48 | (n >= 8 ? 4 : 0), 0x8b, 0x05 | (n & 7) << 3};

		if (r != X86_RSP)
			emit_data(e, op, sizeof(op), VALUE(i, regs) + 8 * r);
	}
	e->t->checks[i].hashed = e->out.len;
	jne_end(e);
}

/* Its code is in tramp-hash.c: the lanes live in registers that are known. */
static void check_print(struct emitter *e, struct stops *s, int i)
{
	struct tramp_check *k = &e->t->checks[i];
	const struct stop_cond *c = &s->conds[k->cond].c;
	struct tramp_ranges ranges;
	struct tramp_inner inner;

	k->hash = k->hashed = e->out.len;
	if (!c->has_print || !c->match_regs || c->ignore || c->pass || c->count_only)
		return;
	/* The cheap part first, that of 16 KiB last. */
	if (!tramp_ranges(s, c, 0, &ranges)) {
		if (tramp_emit_hash(&e->out, here(e), &ranges))
			e->err = -E2BIG;
		print_end(e, i);
		/* Only behind equal windows are their words known to be addresses. */
		if (!tramp_inner(s, c, &ranges, &inner)) {
			if (tramp_emit_inner(&e->out, here(e), &inner))
				e->err = -E2BIG;
			print_end(e, i);
		}
	}
	if (!tramp_ranges(s, c, 1, &ranges)) {
		if (tramp_emit_hash(&e->out, here(e), &ranges))
			e->err = -E2BIG;
		print_end(e, i);
	}
}

static void emit_check(struct emitter *e, struct stops *s, int i)
{
	struct tramp_check *k = &e->t->checks[i];
	const struct stop_cond *c = k->cond < 0 ? NULL : &s->conds[k->cond].c;

	k->begin = e->out.len;
	e->n_fixups = 0;
	if (c) {
		load_rax(e, SAVED(save_rax));
		if (c->match_regs)
			cmp_regs(e, c, &s->now, i);
		cmp_words(e, c, i);
		check_print(e, s, i);
		k->inc = e->out.len;
		emit_data(e, "\x48\xff\x05", 3, VALUE(i, count));
		if (c->pass && !c->count_only) {
			load_rax(e, VALUE(i, count));
			emit_data(e, "\x48\x3b\x05", 3, VALUE(i, pass));
			jne_end(e);
		}
	} else {
		k->inc = e->out.len;
	}
	if (!c || !c->count_only)
		wbuf_u8(&e->out, 0xcc);
	for (u32 f = 0; f < e->n_fixups && !e->out.err; f++) {
		u32 rel = e->out.len - (e->fixups[f] + 4);

		memcpy(e->out.data + e->fixups[f], &rel, 4);
	}
	k->end = e->out.len;
}

/* Can every check of instruction @n be put off by its registers' sum? */
static bool can_filter(const struct emitter *e, const struct stops *s, unsigned n)
{
	for (int i = 0; i < e->t->n_checks; i++) {
		const struct tramp_check *k = &e->t->checks[i];

		if (k->insn == n &&
		    (k->cond < 0 || !tramp_can_filter(&s->conds[k->cond].c)))
			return false;
	}
	return true;
}

/* See tramp-filter.c. The jump to the copy is not known yet: *@fixup. */
static void emit_filter(struct emitter *e, const struct stops *s, unsigned n, u32 *fixup)
{
	struct tramp_insn *in = &e->t->insns[n];
	u32 to_slow[TRAMP_CHECKS], n_slow = 0;

	emit_data(e, "\x48\x89\x0d", 3, SAVED(save_rcx));
	in->rcx_used = e->out.len;
	for (int i = 0; i < e->t->n_checks; i++) {
		if (e->t->checks[i].insn != n)
			continue;
		if (n_slow)
			emit_data(e, "\x48\x8b\x0d", 3, SAVED(save_rcx));
		tramp_emit_sum(&e->out, &s->conds[e->t->checks[i].cond].c, &s->now);
		/* jrcxz over the jump that skips the one to the check */
		wbuf_bytes(&e->out, "\xe3\x02\xeb\x05\xe9", 5);
		to_slow[n_slow++] = e->out.len;
		wbuf_u32(&e->out, 0);
	}
	emit_data(e, "\x48\x8b\x0d", 3, SAVED(save_rcx));
	in->rcx_back = e->out.len;
	wbuf_u8(&e->out, 0xe9);
	*fixup = e->out.len;
	wbuf_u32(&e->out, 0);
	in->slow = e->out.len;
	emit_data(e, "\x48\x8b\x0d", 3, SAVED(save_rcx));
	while (n_slow && !e->out.err) {
		u32 rel = in->slow - (to_slow[--n_slow] + 4);

		memcpy(e->out.data + to_slow[n_slow], &rel, 4);
	}
}

static void emit_insn(struct emitter *e, struct stops *s, unsigned n,
		      const u64 entry[WINDOW_INSNS])
{
	struct tramp_insn *in = &e->t->insns[n];
	u32 fixup = 0;
	u8 pushed;
	int err;

	in->entry = e->out.len;
	for (int i = 0; i < e->t->n_checks; i++)
		in->checked |= e->t->checks[i].insn == n;
	if (in->checked && can_filter(e, s, n))
		emit_filter(e, s, n, &fixup);
	if (in->checked) {
		emit_data(e, "\x48\x89\x05", 3, SAVED(save_rax));
		in->has_rax = e->out.len;
		wbuf_bytes(&e->out, "\x9f\x0f\x90\xc0", 4); /* lahf; seto %al */
		emit_data(e, "\x48\x89\x05", 3, SAVED(save_flags));
		in->has_flags = e->out.len;
		for (int i = 0; i < e->t->n_checks; i++)
			if (e->t->checks[i].insn == n)
				emit_check(e, s, i);
		load_rax(e, SAVED(save_flags));
		wbuf_bytes(&e->out, "\x04\x7f\x9e", 3); /* add $0x7f, %al; sahf */
		load_rax(e, SAVED(save_rax));
	}
	in->copy = e->out.len;
	if (fixup && !e->out.err) {
		u32 rel = in->copy - (fixup + 4);

		memcpy(e->out.data + fixup, &rel, 4);
	}
	err = code_emit(&e->t->w, n, &e->out, here(e), entry, &pushed);
	in->pushed = pushed ? in->copy + pushed : 0;
	in->end = e->out.len;
	if (err)
		e->err = err;
}

static int emit_all(struct emitter *e, struct stops *s, const u64 entry[WINDOW_INSNS])
{
	struct tramp *t = e->t;
	int err;

	wbuf_reset(&e->out);
	e->err = 0;
	for (unsigned n = 0; n < t->w.n; n++)
		emit_insn(e, s, n, entry);
	err = emit_jump(&e->out, here(e), t->w.addr + t->w.len);
	if (e->out.len > UINT16_MAX)
		return -E2BIG;
	return e->err ? e->err : err ? err : e->out.err;
}

int tramp_emit(struct stops *s, struct tramp *t, struct wbuf *out)
{
	struct emitter e = {.t = t, .out = *out};
	u64 entry[WINDOW_INSNS] = {0};
	int err = emit_all(&e, s, entry);

	/* Again, with branches inside the window going straight to its entries;
	 * rel32 everywhere, so that nothing moves. */
	for (unsigned n = 0; n < t->w.n; n++)
		entry[n] = t->code + t->insns[n].entry;
	if (!err)
		err = emit_all(&e, s, entry);
	t->code_len = e.out.len;
	*out = e.out;
	return err;
}

u16 tramp_flags_pack(u64 eflags)
{
	return (((eflags & 0xd5) | 2) << 8) | ((eflags >> 11) & 1);
}

u64 tramp_flags_unpack(u64 eflags, u64 saved)
{
	return (eflags & ~0x8d5UL) | ((saved >> 8) & 0xd5) | (saved & 1) << 11;
}
