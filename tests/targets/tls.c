/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variables of a thread: __thread, pthread keys with destructors, errno. */
#include <pthread.h>
#include "target.h"

static __thread long mine = 7;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int destroyed, made;

static void destroy(void *p)
{
	__sync_fetch_and_add(&destroyed, (int)(long)p);
}

static void make(void)
{
	made++;
	pthread_key_create(&key, destroy);
}

static void *run(void *arg)
{
	long me = (long)arg;

	pthread_once(&once, make);
	pthread_setspecific(key, arg);
	CHECK(mine == 7);
	for (int i = 0; i < 1000; i++) {
		mine += me;
		errno = me;
		if (i % 100 == 0)
			usleep(10);
		CHECK(i % 100 == 0 || errno == me);
	}
	CHECK(mine == 7 + 1000 * me && pthread_getspecific(key) == arg);
	return NULL;
}

int main(void)
{
	pthread_t t[5];

	for (long i = 0; i < 5; i++)
		CHECK(!pthread_create(&t[i], NULL, run, (void *)(i + 1)));
	for (int i = 0; i < 5; i++)
		pthread_join(t[i], NULL);
	CHECK(destroyed == 15 && made == 1 && mine == 7);
	puts("own");
	return 0;
}
