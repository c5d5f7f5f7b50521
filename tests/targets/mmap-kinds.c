/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private and shared, of files and anonymous, fixed, protected, unmapped, advised. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include "target.h"

static sigjmp_buf out;

static void on_fault(int sig)
{
	siglongjmp(out, sig);
}

static int faults(volatile char *at, int write)
{
	int sig = sigsetjmp(out, 1);

	if (!sig) {
		if (write)
			*at = 1;
		else
			(void)*at;
	}
	return sig;
}

static void files(void)
{
	char name[] = "mmap-kinds.XXXXXX", buf[16];
	int fd = mkstemp(name);
	char *priv, *shared;

	CHECK(fd >= 0 && !ftruncate(fd, 3 * 4096));
	CHECK(pwrite(fd, "first", 5, 0) == 5 && pwrite(fd, "second", 6, 4096) == 6);
	priv = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
	CHECK(priv != MAP_FAILED && shared != MAP_FAILED);
	CHECK(!strcmp(priv, "first") && !strcmp(priv + 4096, "second"));
	strcpy(priv, "mine");
	strcpy(shared, "ours");
	CHECK(!msync(shared, 4096, MS_SYNC));
	CHECK(pread(fd, buf, 6, 4096) == 6 && !memcmp(buf, "ours\0d", 6));
	CHECK(pread(fd, buf, 5, 0) == 5 && !memcmp(buf, "first", 5));
	CHECK(pwrite(fd, "again", 5, 4096) == 5 && !memcmp(shared, "again", 5));
	CHECK(!munmap(priv, 8192) && !munmap(shared, 8192));
	close(fd);
	unlink(name);
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_fault};
	unsigned char vec[4];
	char *p, *q;

	sigaction(SIGSEGV, &act, NULL);
	p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0);
	CHECK(p != MAP_FAILED);
	memset(p, 'x', 4 * 4096);
	CHECK(!mincore(p, 4 * 4096, vec));
	q = mmap(p + 4096, 4096, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(q == p + 4096 && q[0] == 0 && p[0] == 'x' && p[8192] == 'x');
	CHECK(mmap(p, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		   -1, 0) == MAP_FAILED);
	CHECK(!mprotect(p, 4096, PROT_READ));
	CHECK(faults(p, 1) == SIGSEGV && faults(p, 0) == 0);
	CHECK(!mprotect(p, 4096, PROT_NONE) && faults(p, 0) == SIGSEGV);
	CHECK(!madvise(p + 8192, 4096, MADV_DONTNEED) && p[8192] == 0);
	CHECK(!munmap(p + 3 * 4096, 4096) && faults(p + 3 * 4096, 0) == SIGSEGV);
	files();
	puts("mapped");
	return 0;
}
