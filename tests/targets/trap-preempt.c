/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trapped instructions in threads that are preempted, under a fast timer. */
#include <cpuid.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <x86intrin.h>

static volatile sig_atomic_t ticks;

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

static void *work(void *arg)
{
	unsigned a, b, c, d, *bad = arg;
	unsigned long long last = 0, now;

	for (int i = 0; i < 4000; i++) {
		if (!__get_cpuid(0, &a, &b, &c, &d))
			++*bad;
		now = __rdtsc();
		if (now < last)
			++*bad;
		last = now;
		for (volatile int k = 0; k < 300; k++)
			;
	}
	return NULL;
}

int main(void)
{
	struct itimerval it = {
		{0, 500},
		  {0, 500}
	  };
	struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	unsigned bad[3] = {0};
	pthread_t t[3];

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, work, &bad[i]))
			return 2;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	if (bad[0] || bad[1] || bad[2] || !ticks)
		return 1;
	puts("ok");
	return 0;
}
