/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time stamp counter only grows; RDTSCP too. The values are printed. */
#include <x86intrin.h>
#include "target.h"

int main(void)
{
	unsigned long long first = __rdtsc(), last = first, now;
	unsigned int cpu;

	for (int i = 0; i < 200; i++) {
		now = i % 2 ? __rdtsc() : __rdtscp(&cpu);
		CHECK(now >= last);
		last = now;
		target_work(i, 1000);
	}
	printf("%llu %llu\n", first, last);
	return 0;
}
