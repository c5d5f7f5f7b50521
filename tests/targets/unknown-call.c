/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the system call whose number it is told, after some output. */
#include <sys/syscall.h>
#include "target.h"

int main(int argc, char **argv)
{
	puts("before");
	fflush(stdout);
	long ret = syscall(argc > 1 ? atol(argv[1]) : SYS_getpid, 0, 0, 0, 0, 0, 0);
	printf("after: %ld %s\n", ret, ret < 0 ? strerror(errno) : "");
	return 0;
}
