/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two busy threads, a mutex between them, and a third that spins on a flag. */
#include <pthread.h>
#include <stdatomic.h>
#include "target.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int done;
static uint64_t sums[2];
static long shared;
static int scale;

static void *busy(void *arg)
{
	long me = (long)arg;

	for (int i = 0; i < 40 * scale; i++) {
		sums[me] += target_work(me + i, 500000);
		pthread_mutex_lock(&lock);
		shared++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *spin(void *arg)
{
	while (!atomic_load(&done))
		;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[3];

	scale = target_scale(argc, argv);
	CHECK(!pthread_create(&t[0], NULL, busy, (void *)0));
	CHECK(!pthread_create(&t[1], NULL, busy, (void *)1));
	CHECK(!pthread_create(&t[2], NULL, spin, NULL));
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	atomic_store(&done, 1);
	pthread_join(t[2], NULL);
	CHECK(shared == 80 * scale);
	printf("%llx %llx\n", (unsigned long long)sums[0], (unsigned long long)sums[1]);
	return 0;
}
