/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals sent to a certain thread that computes, and to one that sleeps. */
#include <pthread.h>
#include <signal.h>
#include "target.h"

static __thread int hits_mine;
static volatile int hits, stop, up;

static void on_usr1(int sig)
{
	hits_mine++;
	__sync_fetch_and_add(&hits, 1);
}

static void *busy(void *arg)
{
	__sync_fetch_and_add(&up, 1);
	while (!stop)
		target_work(1, 1000);
	return (void *)(long)hits_mine;
}

static void *sleepy(void *arg)
{
	__sync_fetch_and_add(&up, 1);
	while (!stop)
		usleep(1000);
	return (void *)(long)hits_mine;
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_usr1, .sa_flags = SA_RESTART};
	pthread_t t[2];
	void *got[2];

	sigaction(SIGUSR1, &act, NULL);
	CHECK(!pthread_create(&t[0], NULL, busy, NULL));
	CHECK(!pthread_create(&t[1], NULL, sleepy, NULL));
	while (up < 2)
		usleep(100);
	for (int i = 0; i < 20; i++) {
		CHECK(!pthread_kill(t[i % 2], SIGUSR1));
		while (hits <= i)
			usleep(100);
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], &got[i]);
	CHECK((long)got[0] == 10 && (long)got[1] == 10 && hits_mine == 0);
	puts("hit");
	return 0;
}
