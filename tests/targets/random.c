/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes from the kernel's random generator, printed: each run has its own. */
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include "target.h"

static void print(const char *what, const unsigned char *b, int n)
{
	printf("%s ", what);
	for (int i = 0; i < n; i++)
		printf("%02x", b[i]);
	puts("");
}

int main(void)
{
	unsigned char b[32];
	int fd = open("/dev/urandom", O_RDONLY);

	CHECK(getrandom(b, sizeof(b), 0) == sizeof(b));
	print("getrandom", b, sizeof(b));
	CHECK(read(fd, b, sizeof(b)) == sizeof(b));
	print("urandom", b, sizeof(b));
	print("AT_RANDOM", (unsigned char *)getauxval(AT_RANDOM), 16);
	printf("pid %d\n", getpid());
	return 0;
}
