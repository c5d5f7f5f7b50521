/* SPDX-License-Identifier: GPL-3.0-or-later */
/* POSIX timers, by signal and overrun, and an alarm that ends a pause. */
#include <signal.h>
#include <time.h>
#include "target.h"

static volatile sig_atomic_t ticks;

static void on_tick(int sig, siginfo_t *info, void *ctx)
{
	if (info->si_code == SI_TIMER)
		CHECK(info->si_value.sival_int == 42);
	ticks++;
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO};
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
	struct itimerspec every =
				  {
					  {0, 2000000},
						{0, 2000000}
	    },
			  left;
	timer_t timer;

	ev.sigev_value.sival_int = 42;
	sigaction(SIGUSR2, &act, NULL);
	sigaction(SIGALRM, &act, NULL);
	CHECK(!timer_create(CLOCK_MONOTONIC, &ev, &timer));
	CHECK(!timer_settime(timer, 0, &every, NULL));
	CHECK(!timer_gettime(timer, &left) && left.it_interval.tv_nsec == 2000000);
	while (ticks < 10)
		pause();
	CHECK(timer_getoverrun(timer) >= 0);
	CHECK(!timer_delete(timer));
	alarm(1);
	CHECK(alarm(0) == 1);
	puts("ticked");
	return 0;
}
