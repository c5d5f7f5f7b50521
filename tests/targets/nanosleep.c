/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sleeps: whole, interrupted by a signal, with the rest given back, absolute. */
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include "target.h"

static volatile sig_atomic_t hits;

static void on_alarm(int sig)
{
	hits++;
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval in = {.it_value.tv_usec = 5000};
	struct timespec ms = {.tv_nsec = 2000000}, s = {.tv_sec = 5}, rest = {0}, at;

	CHECK(!nanosleep(&ms, NULL));
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &in, NULL);
	CHECK(nanosleep(&s, &rest) == -1 && errno == EINTR && hits == 1);
	CHECK(rest.tv_sec == 4);
	setitimer(ITIMER_REAL, &in, NULL);
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &s, &rest) == EINTR && hits == 2);
	CHECK(!clock_gettime(CLOCK_MONOTONIC, &at));
	at.tv_nsec += 3000000;
	if (at.tv_nsec >= 1000000000) {
		at.tv_nsec -= 1000000000;
		at.tv_sec++;
	}
	CHECK(!clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL));
	puts("slept");
	return 0;
}
