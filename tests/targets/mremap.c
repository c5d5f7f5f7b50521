/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mappings that grow in place, move, shrink, move onto a fixed place. */
#include <sys/mman.h>
#include "target.h"

int main(void)
{
	char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	char *fence, *q, *to;
	uint64_t sum = 0;

	CHECK(p != MAP_FAILED);
	for (int i = 0; i < 1 << 20; i++)
		p[i] = i * 7;
	fence = mmap(p - 4096, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(fence != MAP_FAILED);
	q = mremap(p, 1 << 20, 4 << 20, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED);
	for (int i = 0; i < 1 << 20; i++)
		CHECK(q[i] == (char)(i * 7));
	CHECK(q[(4 << 20) - 1] == 0);
	CHECK(mremap(q, 4 << 20, 8192, 0) == q);
	to = mmap(NULL, 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mremap(q, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	for (int i = 0; i < 8192; i++)
		sum = sum * 31 + to[i];
	/* realloc of a large block uses it. */
	p = malloc(300000);
	for (int i = 0; i < 300000; i++)
		p[i] = i;
	for (int n = 400000; n < 4000000; n *= 2) {
		p = realloc(p, n);
		CHECK(p && p[299999] == (char)299999);
	}
	free(p);
	printf("%llx\n", (unsigned long long)sum);
	return 0;
}
