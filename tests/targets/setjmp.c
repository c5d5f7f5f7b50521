/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leaves deep calls by longjmp, a thousand times, and switches contexts. */
#include <setjmp.h>
#include <ucontext.h>
#include "target.h"

static jmp_buf out;
static ucontext_t here, there;
static char stack[65536];
static int turns;

static void __attribute__((noinline)) deep(int n)
{
	if (!n)
		longjmp(out, 1);
	deep(n - 1);
	__asm__ volatile("");
}

static void other(void)
{
	for (;;) {
		turns++;
		swapcontext(&there, &here);
	}
}

int main(void)
{
	volatile int jumps = 0;

	while (jumps < 1000) {
		if (!setjmp(out))
			deep(jumps % 50);
		jumps++;
	}
	CHECK(!getcontext(&there));
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	makecontext(&there, other, 0);
	for (int i = 0; i < 100; i++)
		CHECK(!swapcontext(&here, &there));
	CHECK(turns == 100);
	printf("%d jumps\n", jumps);
	return 0;
}
