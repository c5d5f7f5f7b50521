/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Four threads that add under a mutex. */
#include <pthread.h>
#include "target.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void *add(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		pthread_mutex_lock(&lock);
		total += (long)arg;
		pthread_mutex_unlock(&lock);
		if (i % 1000 == 0)
			target_work(i, 1000);
	}
	return arg;
}

int main(void)
{
	pthread_t t[4];
	void *ret;

	for (long i = 0; i < 4; i++)
		CHECK(!pthread_create(&t[i], NULL, add, (void *)(i + 1)));
	for (long i = 0; i < 4; i++) {
		CHECK(!pthread_join(t[i], &ret));
		CHECK(ret == (void *)(i + 1));
	}
	CHECK(total == 20000 * 10);
	printf("total %ld\n", total);
	return 0;
}
