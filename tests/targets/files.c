/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and folders: stat, statx, vectors, directories, links, locks, copies. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include "target.h"

static void vectors(int fd)
{
	char a[3], b[5];
	struct iovec out[] =
		{
			{"one",	3},
			    {"",	 0},
			     {"two22", 5}
	 },
		     in[] = {{a, 3}, {b, 5}};

	CHECK(writev(fd, out, 3) == 8);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK(readv(fd, in, 2) == 8 && !memcmp(a, "one", 3) && !memcmp(b, "two22", 5));
	CHECK(pwritev(fd, out, 3, 100) == 8 && preadv(fd, in, 2, 100) == 8);
	CHECK(preadv2(fd, in, 2, 100, 0) == 8);
	CHECK(lseek(fd, 0, SEEK_CUR) == 8);
}

static void folder(void)
{
	struct dirent *e;
	int n = 0;
	DIR *d;

	CHECK(!mkdir("files.d", 0755) && !symlink("nowhere", "files.d/link"));
	CHECK(!mkdir("files.d/sub", 0700));
	CHECK((d = opendir("files.d")) != NULL);
	while ((e = readdir(d)))
		n++;
	closedir(d);
	CHECK(n == 4);
	CHECK(!rmdir("files.d/sub") && !unlink("files.d/link") && !rmdir("files.d"));
}

int main(void)
{
	char name[] = "files.XXXXXX", path[64], buf[64];
	int fd = mkstemp(name), copy;
	struct statfs sfs;
	struct statx sx;
	struct stat st;

	CHECK(fd >= 0);
	vectors(fd);
	CHECK(!fstat(fd, &st) && st.st_size == 108 && S_ISREG(st.st_mode));
	CHECK(!statx(AT_FDCWD, name, 0, STATX_ALL, &sx) && sx.stx_size == 108);
	CHECK(!fstatfs(fd, &sfs) && sfs.f_bsize > 0);
	CHECK(!flock(fd, LOCK_EX) && !fchmod(fd, 0600) && !access(name, R_OK));
	snprintf(path, sizeof(path), "%s.link", name);
	CHECK(!link(name, path) && !rename(path, "files.copy"));
	CHECK((copy = open("files.out", O_CREAT | O_TRUNC | O_RDWR, 0600)) >= 0);
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && sendfile(copy, fd, NULL, 108) == 108);
	CHECK(pread(copy, buf, 8, 100) == 8 && !memcmp(buf, "onetwo22", 8));
	CHECK(dup2(copy, 50) == 50 && fcntl(50, F_GETFL) >= 0 && !close(50));
	CHECK(open("no/such/file", O_RDONLY) == -1 && errno == ENOENT);
	CHECK(!unlink(name) && !unlink("files.copy") && !unlink("files.out"));
	folder();
	CHECK(getcwd(buf, sizeof(buf)) || errno == ERANGE);
	puts("files");
	return 0;
}
