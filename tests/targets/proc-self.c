/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What /proc says of the program: its maps, status, links, descriptors. */
#include <fcntl.h>
#include <limits.h>
#include "target.h"

int main(void)
{
	char line[512], link[PATH_MAX];
	int maps = 0, stack = 0, fd;
	FILE *f = fopen("/proc/self/maps", "r");
	ssize_t n;

	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		maps++;
		stack += !!strstr(line, "[stack]");
	}
	fclose(f);
	CHECK(maps > 4 && stack == 1);
	CHECK((n = readlink("/proc/self/exe", link, sizeof(link) - 1)) > 0);
	link[n] = '\0';
	CHECK(strstr(link, "proc-self"));
	f = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "Pid:", 4))
			CHECK(atoi(line + 4) == getpid());
	fclose(f);
	CHECK((fd = open("/proc/self/cmdline", O_RDONLY)) >= 0);
	CHECK(read(fd, line, sizeof(line)) > 0);
	CHECK(readlink("/proc/self/fd/0", link, sizeof(link)) > 0);
	puts("self");
	return 0;
}
