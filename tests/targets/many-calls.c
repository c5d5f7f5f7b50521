/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tens of thousands of short system calls, and many small writes. */
#include <fcntl.h>
#include <sys/syscall.h>
#include "target.h"

int main(void)
{
	int fd = open("/dev/zero", O_RDONLY);
	char buf[512];
	long n = 0;

	CHECK(fd >= 0);
	for (int i = 0; i < 5000; i++) {
		n += read(fd, buf, 1 + i % 512);
		syscall(SYS_getppid);
	}
	for (int i = 0; i < 50; i++) {
		dprintf(1, "%d ", i);
		dprintf(2, "%d\n", i);
	}
	printf("%ld\n", n);
	return 0;
}
