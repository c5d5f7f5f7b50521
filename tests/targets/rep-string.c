/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Most time inside rep movs and rep stos: samples fall within one instruction. */
#include "target.h"

static char from[1 << 20], to[1 << 20];

int main(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < 2000; i++) {
		void *d = to, *s = from;
		size_t n = sizeof(to);

		__asm__ volatile("rep stosb" : "+D"(s), "+c"(n) : "a"(i) : "memory");
		n = sizeof(to);
		s = from;
		__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
		sum += (unsigned char)to[i * 500];
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
