/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recursion that makes the kernel grow the stack by some megabytes. */
#include "target.h"

static uint64_t __attribute__((noinline)) down(int n, uint64_t seed)
{
	volatile char space[1000];

	space[n % 1000] = seed;
	if (!n)
		return seed;
	return down(n - 1, target_work(seed, 20)) + space[n % 1000];
}

int main(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < 20; i++)
		sum += down(5000, i);
	printf("%llx\n", (unsigned long long)sum);
	return 0;
}
