/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * regs.h - the user registers of an x86-64 thread in one flat array.
 *
 * The first 18 follow the order of gdb's org.gnu.gdb.i386.core feature, so
 * that the g packet and this array are filled from one loop. The segment
 * selectors of 64-bit Linux programs never change and are constants here.
 */
#ifndef PLAYHEAD_REGS_H
#define PLAYHEAD_REGS_H

#include "base/base.h"

struct user_regs_struct;

enum reg {
	/* clang-format off */
	X86_RAX, X86_RBX, X86_RCX, X86_RDX, X86_RSI, X86_RDI, X86_RBP, X86_RSP,
	X86_R8,  X86_R9,  X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15,
	X86_RIP, X86_EFLAGS,
	/* clang-format on */
	X86_FS_BASE,
	X86_GS_BASE,
	/* The system call number while in a system call, else ~0. */
	X86_ORIG_RAX,
	NR_REGS
};

#define USER_CS 0x33
#define USER_SS 0x2b

/* CF PF AF ZF SF DF OF: the flags a program computes with. */
#define EFLAGS_USER 0x0cd5UL

struct regs {
	u64 r[NR_REGS];
};

extern const char *const reg_names[NR_REGS]; /* "rax" ... "orig_rax" */

void regs_from_user(struct regs *r, const struct user_regs_struct *u);
void regs_to_user(const struct regs *r, struct user_regs_struct *u);

/*
 * Equal in all that a program can see: general registers, rip, the flags in
 * EFLAGS_USER, fs and gs base. orig_rax is not compared.
 */
bool regs_equal(const struct regs *a, const struct regs *b);

/* "rax 1 != 2, rip 3 != 4": where @a and @b differ, cut at @n bytes. */
void regs_diff(const struct regs *a, const struct regs *b, char *out, size_t n);

#endif
