/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls that programs make rarely but do make. */
#include <grp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include "target.h"

int main(void)
{
	struct utsname un;
	struct sysinfo si;
	struct rlimit rl;
	char name[17] = {0}, big[4096];
	gid_t groups[64];
	int fd;

	CHECK(!uname(&un) && !strcmp(un.sysname, "Linux"));
	CHECK(!sysinfo(&si) && si.totalram);
	CHECK(!getrlimit(RLIMIT_NOFILE, &rl) && rl.rlim_cur);
	CHECK(!prctl(PR_SET_NAME, "odd") && !prctl(PR_GET_NAME, name) &&
	      !strcmp(name, "odd"));
	CHECK(getgroups(64, groups) >= 0);
	CHECK(getpgrp() > 0 && getsid(0) >= 0 && getuid() == geteuid());
	CHECK(umask(022) >= 0 && getpriority(PRIO_PROCESS, 0) <= 20);
	CHECK(sched_getscheduler(0) >= 0 && sched_get_priority_max(SCHED_FIFO) > 0);
	CHECK((fd = memfd_create("odd", MFD_CLOEXEC)) >= 0);
	CHECK(!ftruncate(fd, 8192) && write(fd, "memfd", 5) == 5);
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED && !strcmp(p, "memfd"));
	strcpy(p, "other");
	CHECK(pread(fd, big, 5, 0) == 5 && !memcmp(big, "other", 5));
	CHECK(getxattr("/", "user.none", big, sizeof(big)) == -1);
	CHECK(gethostname(big, sizeof(big)) == 0);
	puts("odd");
	return 0;
}
