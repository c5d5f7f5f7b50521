/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A mapped file is cut: what lay behind its new end raises SIGBUS. */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include "target.h"

static sigjmp_buf out;

static void on_bus(int sig, siginfo_t *info, void *ctx)
{
	siglongjmp(out, info->si_code);
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
	char name[] = "sigbus.XXXXXX";
	int fd = mkstemp(name), code;
	volatile char *p;

	sigaction(SIGBUS, &act, NULL);
	CHECK(fd >= 0 && !ftruncate(fd, 8192));
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	p[4096] = 1;
	CHECK(!ftruncate(fd, 4096));
	code = sigsetjmp(out, 1);
	if (!code)
		p[4096] = 2;
	CHECK(code == BUS_ADRERR);
	CHECK(p[0] == 0);
	unlink(name);
	puts("cut");
	return 0;
}
