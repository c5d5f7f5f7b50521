/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults that a handler mends, so many that samples meet their delivery. */
#include <signal.h>
#include <sys/mman.h>
#include "target.h"

static volatile uint64_t *page;
static volatile sig_atomic_t faults;

static void on_fault(int sig, siginfo_t *si, void *ctx)
{
	if (si->si_addr != (void *)page)
		_exit(2);
	faults++;
	mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	int want = 400 * target_scale(argc, argv);

	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	sigaction(SIGSEGV, &act, NULL);
	for (int i = 0; i < want; i++) {
		*page += target_work(i, 10);
		CHECK(!mprotect((void *)page, 4096, PROT_NONE));
	}
	CHECK(faults == want);
	printf("%d faults mended\n", (int)faults);
	return 0;
}
