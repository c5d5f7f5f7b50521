/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes a system call as 32-bit programs do, after some output. */
#include "target.h"

int main(void)
{
	long ret = 20; /* getpid there */

	puts("before");
	fflush(stdout);
	__asm__ volatile("int $0x80" : "+a"(ret) : : "r8", "r9", "r10", "r11", "memory");
	printf("after: %d\n", ret == getpid());
	return 0;
}
