/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linked statically: no loader, no preload. */
#include <pthread.h>
#include "target.h"

static void *run(void *arg)
{
	*(uint64_t *)arg = target_work(5, 3000000);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t sum;
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, run, &sum));
	pthread_join(t, NULL);
	printf("%llx\n",
	       (unsigned long long)(sum +
				    target_work(6, 3000000L * target_scale(argc, argv))));
	return 0;
}
