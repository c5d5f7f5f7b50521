/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs until it is interrupted: a line now and then, work and calls between. */
#include <signal.h>
#include <time.h>
#include "target.h"

static volatile sig_atomic_t stop;

static void on_int(int sig)
{
	stop = 1;
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_handler = on_int};
	struct timespec ms = {.tv_nsec = 1000000};
	uint64_t seed = 1;

	/* Told anything: SIGINT kills it, as it does most programs. */
	if (argc < 2)
		sigaction(SIGINT, &act, NULL);
	for (long i = 0; !stop; i++) {
		seed = target_work(seed, 1000000);
		if (i % 20 == 0)
			dprintf(1, "%ld\n", i / 20);
		nanosleep(&ms, NULL);
	}
	puts("stopped");
	return 21;
}
