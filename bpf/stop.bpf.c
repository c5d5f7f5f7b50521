// SPDX-License-Identifier: MIT OR GPL-2.0-or-later
/*
 * On a hardware breakpoint with attr.sigtrap: decide in the kernel whether
 * this pass is one that the supervisor wants to see. Since Linux 6.10 a 0
 * from here suppresses the SIGTRAP.
 */
#include "bpf/kernel.h"
#include "bpf/stop.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* CF PF AF ZF SF DF OF, as EFLAGS_USER. */
#define FLAGS_COMPARED 0x0cd5UL

struct bpf_stop_slot slots[BPF_STOP_SLOTS];

enum verdict { HOLDS_NOT, HOLDS, UNSURE };

/* The context's registers in the order of enum reg. Each load of a context
 * field is rewritten by the verifier, so they cannot be copied in a loop. */
static __always_inline void regs_load(u64 *r, struct bpf_perf_event_data *ctx)
{
	r[0] = ctx->regs.rax;
	r[1] = ctx->regs.rbx;
	r[2] = ctx->regs.rcx;
	r[3] = ctx->regs.rdx;
	r[4] = ctx->regs.rsi;
	r[5] = ctx->regs.rdi;
	r[6] = ctx->regs.rbp;
	r[7] = ctx->regs.rsp;
	r[8] = ctx->regs.r8;
	r[9] = ctx->regs.r9;
	r[10] = ctx->regs.r10;
	r[11] = ctx->regs.r11;
	r[12] = ctx->regs.r12;
	r[13] = ctx->regs.r13;
	r[14] = ctx->regs.r14;
	r[15] = ctx->regs.r15;
	r[16] = ctx->regs.rip;
	r[17] = ctx->regs.eflags & FLAGS_COMPARED;
}

static __always_inline enum verdict cond_eval(const struct bpf_stop_cond *c, const u64 *r)
{
	enum verdict v = HOLDS;
	u64 diff = 0;

	if (c->compare) {
#pragma unroll
		for (int i = 0; i < BPF_STOP_REGS; i++)
			if (c->compare & 1u << i)
				diff |= c->regs[i] ^ r[i];
		if (diff)
			return HOLDS_NOT;
	}
	for (u32 i = 0; i < BPF_STOP_WORDS && i < c->n_words; i++) {
		u64 now;

		/* #DB context: a page that is not resident cannot be read. */
		if (bpf_probe_read_user(&now, sizeof(now), (void *)c->words[i].addr))
			v = UNSURE;
		else if (now != c->words[i].value)
			return HOLDS_NOT;
	}
	return v;
}

static __always_inline int slot_pass(struct bpf_stop_slot *s, const u64 *r)
{
	u32 hit = 0, unsure = 0;
	int stop = 0;

	for (u32 i = 0; i < BPF_STOP_CONDS && i < s->n_conds; i++) {
		struct bpf_stop_cond *c = &s->conds[i];
		enum verdict v = cond_eval(c, r);

		if (v == HOLDS_NOT)
			continue;
		if (v == UNSURE) {
			unsure |= 1u << i;
			stop = 1;
			continue;
		}
		c->count++;
		hit |= 1u << i;
		if (!c->count_only && (!c->pass || c->count == c->pass))
			stop = 1;
	}
	s->hit = hit;
	s->unsure = unsure;
	return stop;
}

SEC("perf_event")
int on_breakpoint(struct bpf_perf_event_data *ctx)
{
	u64 r[BPF_STOP_REGS];

	regs_load(r, ctx);
	for (u32 i = 0; i < BPF_STOP_SLOTS; i++)
		if (slots[i].ip == r[16])
			return slot_pass(&slots[i], r);
	return 1;
}
