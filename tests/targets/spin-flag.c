/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread that spins on a flag in two instructions: same registers each time. */
#include <pthread.h>
#include "target.h"

static volatile int flag;

static void *set(void *arg)
{
	target_work(1, 5000000);
	flag = 1;
	return NULL;
}

int main(void)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, set, NULL));
	while (!flag)
		;
	pthread_join(t, NULL);
	puts("seen");
	return 0;
}
