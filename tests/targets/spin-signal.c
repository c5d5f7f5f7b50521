/* SPDX-License-Identifier: GPL-3.0-or-later */
/* As spin-memory, but a timer's signal ends it, from outside the program. */
#include <signal.h>
#include <sys/time.h>
#include "target.h"

static volatile sig_atomic_t flag;
static volatile uint64_t counter;

static void on_alarm(int sig)
{
	flag = 1;
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_alarm};
	struct itimerval in = {.it_value.tv_usec = 30000};

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &in, NULL);
	__asm__ volatile("1:	incq %0\n"
			 "	cmpl $0, %1\n"
			 "	je 1b\n"
			 : "+m"(counter)
			 : "m"(flag)
			 : "cc", "memory");
	CHECK(counter > 0);
	printf("%llu passes\n", (unsigned long long)counter);
	return 0;
}
