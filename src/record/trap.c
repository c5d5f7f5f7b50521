/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * trap.c - instructions that read the world without a system call: the time
 * stamp counter and CPUID fault while recording and are answered here.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
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

/* ---- SIGSEGV as the program has it ---- */

#define SEGV_BIT (1UL << (SIGSEGV - 1))

struct segv *segv_new(const struct segv *from)
{
	struct segv *g = calloc(1, sizeof(*g));

	if (g && from)
		*g = *from;
	if (g)
		g->refs = 1;
	return g;
}

void segv_put(struct segv *g)
{
	if (g && !--g->refs)
		free(g);
}

void trap_note_mask(struct task *t)
{
	u64 mask;

	if (!ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(mask), &mask))
		t->blocked = mask;
}

/* A new program: its own action; ignored stays ignored, a handler is gone. */
void trap_exec(struct session *s, struct task *t)
{
	struct segv *g = segv_new(t->segv);
	u64 handler;

	if (!g) {
		session_end(s, "out of memory");
		return;
	}
	memcpy(&handler, g->action, sizeof(handler));
	if (handler != (u64)SIG_IGN)
		memset(g->action, 0, sizeof(g->action));
	segv_put(t->segv);
	t->segv = g;
	trap_note_mask(t);
}

void hook_sigaction_leave(struct session *s, struct task *t, s64 ret)
{
	const u64 *arg = t->call.view.arg;
	u8 action[sizeof(t->segv->action)];

	(void)s;
	if (ret || arg[0] != SIGSEGV || !arg[1])
		return;
	if (tracee_read_some(t->tid, arg[1], action, sizeof(action)) == sizeof(action))
		memcpy(t->segv->action, action, sizeof(action));
}

/* force_sig() has unblocked the signal and set its action to the default if
 * it was blocked or ignored (kernel/signal.c, force_sig_info_to_task). */
static void put_back(struct task *t)
{
	u64 handler, mask = t->blocked;
	s64 ret;

	memcpy(&handler, t->segv->action, sizeof(handler));
	if (!(t->blocked & SEGV_BIT) && handler != (u64)SIG_IGN)
		return;
	tracee_ignore(
		tracee_write(t->tid, AGENT_DATA, t->segv->action, sizeof(t->segv->action)));
	tracee_ignore(tracee_syscall(t->tid, &ret, SYS_rt_sigaction, SIGSEGV, AGENT_DATA, 0,
				     8, 0, 0));
	ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(mask), &mask);
}

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
		put_back(t);
		t->regs = r;
		emit(s, t, &ev);
		return true;
	}
	return false;
}
