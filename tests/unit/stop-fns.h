/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stop-fns.h - the functions that test-stop.c stops in, each for a way of code
 * to be hard to displace.
 */
#ifndef PLAYHEAD_TESTS_STOP_FNS_H
#define PLAYHEAD_TESTS_STOP_FNS_H

#include "base/base.h"

#define DATA_SIZE 8192

/* clang-format off */
static u8 data[DATA_SIZE] __attribute__((aligned(4096)));
static u8 stack[65536] __attribute__((aligned(4096)));

/* Each: rdi = data, ends at its int3. */
#define FN(name, body)                                                                     \
	asm(".pushsection .text\n.balign 64\n.globl f_" #name "\nf_" #name ":\n" body      \
	    "\nint3\n.balign 16\n.popsection");                                            \
	extern const char f_##name[]

FN(tight, "mov $20,%ecx\n1: dec %rcx\njnz 1b");
FN(calls,
   "mov $20,%ebx\n1: mov %rbx,%rsi\ncall 2f\nadd %rax,(%rdi)\nsub $1,%ebx\njne 1b\n"
   "jmp 3f\n2: push %rbp\nmov %rsp,%rbp\nlea 1(%rsi,%rsi,2),%rax\npop %rbp\nret\n3:");
FN(indirect, "mov $20,%ebx\nlea 2f(%rip),%rdx\nmov %rdx,8(%rdi)\n"
	     "1: call *%rdx\nadd %eax,%ecx\ncall *8(%rdi)\nxor %eax,%ecx\ndec %ebx\njg 1b\n"
	     "jmp 3f\n2: lea 7(%rbx),%eax\nadc $0,%eax\nret\n3: mov %rcx,(%rdi)");
FN(riprel, "mov $20,%ecx\n1: addq $3,data+64(%rip)\nmov data+64(%rip),%rax\n"
	   "lea data(%rip),%rdx\nadd %rcx,(%rdx)\ncmpl $7,data+64(%rip)\nloop 1b");
FN(middle, "mov $6,%ebx\n1: test %ebx,%ebx\njz 4f\nmov $4,%ecx\ninc %eax\n"
	   "2: dec %ecx\nnop\n3: jnz 2b\ndec %ebx\njmp 1b\n4:");
FN(carry,
   "mov $20,%ecx\nxor %eax,%eax\nstc\n1: adc %rcx,%rax\nadc %rax,%rdx\n"
   "lea -1(%rcx),%rcx\njrcxz 2f\njmp 1b\n2: setc (%rdi)\nseto 1(%rdi)\npushf\npop %rbx");
FN(overflow, "mov $20,%ecx\nmov $0x7ffffff0,%eax\n1: inc %eax\nseto %dl\nlea 1(%rsi),%rsi\n"
	     "cmovo %ecx,%ebx\nadd %dl,(%rdi)\ndec %ecx\njnz 1b");
FN(strings, "mov $10,%ebx\nmov %rdi,%r8\n1: lea 64(%r8),%rdi\nmov %r8,%rsi\nmov $17,%ecx\n"
	    "mov %ebx,%eax\nrep stosb\nmov $5,%ecx\nlea 128(%r8),%rdi\nrep movsb\n"
	    "xor %ecx,%ecx\nrep stosq\nstd\nmov $3,%ecx\nrep stosb\ncld\ndec %ebx\njnz 1b");
FN(pushes, "mov $20,%ebx\n1: push %rbx\npushf\npop %rax\nand $0xcd5,%eax\nadd %rax,(%rdi)\n"
	   "pop %rcx\npush %rsp\npop %rdx\npush (%rdi)\npop 8(%rdi)\nenter $16,$0\nleave\n"
	   "dec %ebx\njnz 1b");
FN(redzone, "mov $20,%ebx\n1: mov %rbx,-8(%rsp)\nmov %rdi,-128(%rsp)\nadd $1,%eax\n"
	    "add -8(%rsp),%rax\nmov -128(%rsp),%rdi\nadd %rax,(%rdi)\ndec %ebx\njnz 1b");
FN(memory, "1: incl (%rdi)\ncmpl $20,(%rdi)\njne 1b");
FN(jumps,
   "mov $20,%ebx\nlea 3f(%rip),%rdx\n1: jmp 2f\nud2\n2: jmp *%rdx\nud2\n3: test $1,%bl\n"
   "jnz 4f\nadd $2,%eax\n4: sub $1,%ebx\njz 5f\njmp 1b\n5:");
/* Entered behind a prefix, and in the middle of an instruction. */
FN(overlap, "mov $20,%ebx\nmov $3,%eax\n1: test $1,%bl\njz 2f\nlock\n2: addl $1,(%rdi)\n"
	    "test $3,%bl\njnz 3f+1\n3: mov $0x90c00190,%ecx\nlea 1(%rsi),%rsi\ndec %ebx\n"
	    "jnz 1b\njmp 5f\n5:");
/* rsi turns, to be interrupted anywhere; rbx is new in every turn. */
FN(longer,
   "mov %rsi,%rbx\nnopl (%rax)\nnop\nxor %ecx,%ecx\n1: adc %rbx,%rax\nlea "
   "3(%rax,%rcx),%rcx\n"
   "rol $3,%rcx\nadd %rcx,(%rdi)\nmov %rbx,-16(%rsp)\ncall 2f\npush %rcx\npushf\n"
   "pop %rdx\npop %rsi\nand $0x8d5,%edx\nadd %rdx,8(%rdi)\ndec %ebx\njnz 1b\njmp 3f\n"
   "2: xor %rax,%rcx\nmov %rcx,%r8\nmov $3,%ecx\n4: add $5,%r9\nloop 4b\n"
   "mov %r8,%rcx\nret\n3:");
FN(spin, "mov $1,%eax\n1: jmp 1b");

static const struct fn {
	const char *name, *code;
} fns[] = {
	{"tight",	  f_tight	 },
	  {"calls",    f_calls   },
	  {"indirect", f_indirect},
	{"riprel",   f_riprel  },
	  {"middle",   f_middle  },
	  {"carry",    f_carry   },
	{"overflow", f_overflow},
	  {"strings",  f_strings },
	  {"pushes",   f_pushes  },
	{"redzone",  f_redzone },
	  {"overlap",  f_overlap },
	  {"memory",   f_memory  },
	{"jumps",	  f_jumps	 },
};
/* clang-format on */

#endif
