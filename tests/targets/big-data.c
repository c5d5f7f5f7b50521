/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads some tens of MiB that do not compress: its recording is as large. */
#include <fcntl.h>
#include "target.h"

int main(void)
{
	static char buf[1 << 20];
	int fd = open("/dev/urandom", O_RDONLY);

	CHECK(fd >= 0);
	for (int i = 0; i < 48; i++) {
		CHECK(read(fd, buf, sizeof(buf)) > 0);
		if (i % 8 == 0)
			dprintf(1, "%d\n", i);
	}
	return 0;
}
