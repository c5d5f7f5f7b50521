/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>
#include <sys/user.h>

#include "arch/x86_64/regs.h"

#define R(reg, field) [X86_##reg] = {#field, offsetof(struct user_regs_struct, field)}

static const struct {
	const char *name;
	size_t off;
} reg_table[NR_REGS] = {
	R(RAX, rax),	     R(RBX, rbx),	  R(RCX, rcx),
	R(RDX, rdx),	     R(RSI, rsi),	  R(RDI, rdi),
	R(RBP, rbp),	     R(RSP, rsp),	  R(R8, r8),
	R(R9, r9),	     R(R10, r10),	  R(R11, r11),
	R(R12, r12),	     R(R13, r13),	  R(R14, r14),
	R(R15, r15),	     R(RIP, rip),	  R(EFLAGS, eflags),
	R(FS_BASE, fs_base), R(GS_BASE, gs_base), R(ORIG_RAX, orig_rax),
};

const char *const reg_names[NR_REGS] = {
	"rax", "rbx", "rcx", "rdx",    "rsi",	  "rdi",     "rbp",
	"rsp", "r8",  "r9",  "r10",    "r11",	  "r12",     "r13",
	"r14", "r15", "rip", "eflags", "fs_base", "gs_base", "orig_rax",
};

void regs_from_user(struct regs *r, const struct user_regs_struct *u)
{
	for (int i = 0; i < NR_REGS; i++)
		memcpy(&r->r[i], (const char *)u + reg_table[i].off, 8);
}

void regs_to_user(const struct regs *r, struct user_regs_struct *u)
{
	memset(u, 0, sizeof(*u));
	u->cs = USER_CS;
	u->ss = USER_SS;
	for (int i = 0; i < NR_REGS; i++)
		memcpy((char *)u + reg_table[i].off, &r->r[i], 8);
}

static bool reg_differs(const struct regs *a, const struct regs *b, int i)
{
	u64 mask = i == X86_EFLAGS ? EFLAGS_USER : ~0UL;

	return i != X86_ORIG_RAX && ((a->r[i] ^ b->r[i]) & mask);
}

bool regs_equal(const struct regs *a, const struct regs *b)
{
	for (int i = 0; i < NR_REGS; i++)
		if (reg_differs(a, b, i))
			return false;
	return true;
}

void regs_diff(const struct regs *a, const struct regs *b, char *out, size_t n)
{
	size_t at = 0;

	if (n)
		out[0] = '\0';
	for (int i = 0; i < NR_REGS && at < n; i++) {
		if (!reg_differs(a, b, i))
			continue;
		at += snprintf(out + at, n - at, "%s%s %#lx != %#lx", at ? ", " : "",
			       reg_table[i].name, a->r[i], b->r[i]);
	}
}
