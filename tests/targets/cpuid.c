/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPUID may be asked, and names no instruction whose result cannot be repeated. */
#include <cpuid.h>
#include "target.h"

int main(void)
{
	unsigned int a, b, c, d, vendor[4] = {0};

	CHECK(__get_cpuid(0, &a, &vendor[0], &vendor[2], &vendor[1]));
	CHECK(__get_cpuid(1, &a, &b, &c, &d));
	CHECK(d & bit_SSE2);
	printf("%.12s rdrnd %d", (char *)vendor, !!(c & bit_RDRND));
	CHECK(__get_cpuid_count(7, 0, &a, &b, &c, &d));
	printf(" rdseed %d rtm %d rdpid %d waitpkg %d\n", !!(b & (1 << 18)),
	       !!(b & (1 << 11)), !!(c & (1 << 22)), !!(c & (1 << 5)));
	return 0;
}
