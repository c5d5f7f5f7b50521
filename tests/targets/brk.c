/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The heap's end, moved up and down. */
#include "target.h"

int main(void)
{
	char *old = sbrk(0), *p = sbrk(1 << 16);

	CHECK(p == old);
	memset(p, 'b', 1 << 16);
	CHECK(sbrk(-(1 << 15)) == old + (1 << 16));
	CHECK(sbrk(1 << 15) == old + (1 << 15));
	CHECK(p[0] == 'b' && p[1 << 15] == 0);
	for (int i = 0; i < 2000; i++) {
		char *q = malloc(i * 13 % 5000 + 1);

		q[0] = i;
		if (i % 3)
			free(q);
	}
	puts("brk");
	return 0;
}
