/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * trap.c - instructions that read the world without a system call: the time
 * stamp counter and CPUID fault while recording and are answered here.
 */
#include <string.h>
#include <sys/ptrace.h>
#include <x86intrin.h>

#include "arch/x86_64/cpuid.h"
#include "record/internal.h"

static void answer_tsc(struct regs *r)
{
	u64 tsc = __rdtsc();

	r->r[X86_RAX] = (u32)tsc;
	r->r[X86_RDX] = tsc >> 32;
}

static void answer_tscp(struct regs *r)
{
	answer_tsc(r);
	r->r[X86_RCX] = 0; /* processor 0, as getcpu has no better answer */
}

static void answer_cpuid(struct regs *r)
{
	struct cpuid_regs c;

	cpuid_masked(r->r[X86_RAX], r->r[X86_RCX], &c);
	r->r[X86_RAX] = c.eax;
	r->r[X86_RBX] = c.ebx;
	r->r[X86_RCX] = c.ecx;
	r->r[X86_RDX] = c.edx;
}

static const struct {
	const char *name;
	u8 len, code[3];
	void (*answer)(struct regs *r);
} trapped[] = {
	{"rdtsc",  2, {0x0f, 0x31},	   answer_tsc  },
	{"rdtscp", 3, {0x0f, 0x01, 0xf9}, answer_tscp },
	{"cpuid",  2, {0x0f, 0xa2},	   answer_cpuid},
};

bool trap_emulate(struct session *s, struct task *t, const siginfo_t *si)
{
	struct event ev = {.type = EV_TRAP, .has_after = true};
	u8 code[3] = {0};
	struct regs r;

	/* #GP: no address, from the kernel. */
	if (si->si_signo != SIGSEGV || si->si_code != SI_KERNEL)
		return false;
	if (tracee_get_regs(t->tid, &r) ||
	    tracee_read_some(t->tid, r.r[X86_RIP], code, sizeof(code)) < 2)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(trapped); i++) {
		if (memcmp(code, trapped[i].code, trapped[i].len))
			continue;
		r.r[X86_ORIG_RAX] = -1;
		ev.regs = r;
		trapped[i].answer(&r);
		r.r[X86_RIP] += trapped[i].len;
		ev.regs_after = r;
		ev.what = trapped[i].name;
		tracee_ignore(tracee_set_regs(t->tid, &r));
		t->regs = r;
		emit(s, t, &ev);
		return true;
	}
	return false;
}
