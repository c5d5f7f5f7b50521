/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dies by SIGSEGV after some work, in a function of its own. */
#include "target.h"

static void __attribute__((noinline)) crash(volatile int *at)
{
	*at = 1;
}

int main(int argc, char **argv)
{
	printf("%llx\n",
	       (unsigned long long)target_work(1, 3000000L * target_scale(argc, argv)));
	fflush(stdout);
	crash(NULL);
	return 0;
}
