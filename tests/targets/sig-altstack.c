/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fault on a stack that is used up is handled on the alternate one. */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "target.h"

static sigjmp_buf out;
static char *alt;
static size_t alt_size = 65536;
static int hits;

static void on_segv(int sig, siginfo_t *info, void *ctx)
{
	char here;

	CHECK(&here > alt && &here < alt + alt_size);
	hits++;
	siglongjmp(out, 1);
}

static int __attribute__((noinline)) deep(int n)
{
	volatile char space[4096];

	space[0] = n;
	return deep(n + 1) + space[0];
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_segv,
				.sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct rlimit limit = {.rlim_cur = 512 << 10, .rlim_max = RLIM_INFINITY};
	stack_t stack = {.ss_size = alt_size};

	alt = mmap(NULL, alt_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	CHECK(alt != MAP_FAILED);
	stack.ss_sp = alt;
	CHECK(!sigaltstack(&stack, NULL));
	sigaction(SIGSEGV, &act, NULL);
	setrlimit(RLIMIT_STACK, &limit);
	for (int i = 0; i < 3; i++)
		if (!sigsetjmp(out, 1))
			printf("%d\n", deep(0));
	CHECK(hits == 3);
	puts("handled");
	return 0;
}
