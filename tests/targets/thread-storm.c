/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hundreds of threads that live shortly, joined and detached; some are cancelled. */
#include <pthread.h>
#include <stdatomic.h>
#include "target.h"

static atomic_int ran, detached;

static void *brief(void *arg)
{
	target_work(1, (long)arg);
	ran++;
	return NULL;
}

static void *alone(void *arg)
{
	detached++;
	return NULL;
}

static void *forever(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

int main(void)
{
	pthread_t t[20];
	void *ret;

	for (int round = 0; round < 10; round++) {
		for (long i = 0; i < 20; i++)
			CHECK(!pthread_create(&t[i], NULL, brief, (void *)(i * 100)));
		for (int i = 0; i < 20; i++)
			CHECK(!pthread_join(t[i], NULL));
	}
	for (int i = 0; i < 20; i++) {
		CHECK(!pthread_create(&t[i], NULL, alone, NULL));
		CHECK(!pthread_detach(t[i]));
	}
	while (detached < 20)
		usleep(100);
	for (int i = 0; i < 5; i++) {
		CHECK(!pthread_create(&t[i], NULL, forever, NULL));
		CHECK(!pthread_cancel(t[i]) && !pthread_join(t[i], &ret));
		CHECK(ret == PTHREAD_CANCELED);
	}
	printf("%d ran\n", ran);
	return 0;
}
