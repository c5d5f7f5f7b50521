/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A division by zero, handled once, then fatal; an illegal instruction between. */
#include <setjmp.h>
#include <signal.h>
#include "target.h"

static sigjmp_buf out;

static void divide(void)
{
	/* In C this is undefined, and gcc leaves it out. */
	__asm__ volatile("xorl %%ecx, %%ecx; movl $1, %%eax; cltd; idivl %%ecx" ::
				 : "eax", "ecx", "edx", "cc");
}

static void on_fault(int sig, siginfo_t *info, void *ctx)
{
	printf("signal %d code %d\n", sig, info->si_code);
	fflush(stdout);
	siglongjmp(out, 1);
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	sigaction(SIGFPE, &act, NULL);
	sigaction(SIGILL, &act, NULL);
	sigaction(SIGTRAP, &act, NULL);
	if (!sigsetjmp(out, 1))
		divide();
	if (!sigsetjmp(out, 1))
		__asm__ volatile("ud2");
	if (!sigsetjmp(out, 1))
		__asm__ volatile("int3");
	signal(SIGFPE, SIG_DFL);
	divide();
	return 0;
}
