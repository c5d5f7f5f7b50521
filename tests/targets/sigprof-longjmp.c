/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SIGPROF at 1 kHz into a busy loop; every tenth leaves its handler by longjmp. */
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include "target.h"

static sigjmp_buf out;
static volatile sig_atomic_t ticks, jumps;
static volatile uint64_t work;

static void on_prof(int sig)
{
	if (++ticks % 10 == 0) {
		jumps++;
		siglongjmp(out, 1);
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_handler = on_prof, .sa_flags = SA_RESTART};
	struct itimerval every =
				 {
					 {0, 1000},
					    {0, 1000}
	     },
			 never = {{0}, {0}};
	int want = 8 * target_scale(argc, argv);

	sigaction(SIGPROF, &act, NULL);
	setitimer(ITIMER_PROF, &every, NULL);
	sigsetjmp(out, 1);
	while (jumps < want)
		work = target_work(work, 1000);
	setitimer(ITIMER_PROF, &never, NULL);
	CHECK(jumps == want && ticks >= 10 * want);
	printf("%d jumps, work %llx\n", (int)jumps, (unsigned long long)work);
	return 0;
}
