/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread that is not the first calls execve while others run. */
#include <pthread.h>
#include "target.h"

static void *spin(void *arg)
{
	for (;;)
		target_work(1, 10000);
	return NULL;
}

static void *run(void *arg)
{
	char **argv = arg;

	target_work(1, 1000000);
	execl(argv[0], argv[0], "again", (char *)NULL);
	_exit(99);
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc > 1) {
		puts("again");
		return 0;
	}
	CHECK(!pthread_create(&t, NULL, spin, NULL));
	CHECK(!pthread_create(&t, NULL, run, argv));
	pthread_join(t, NULL);
	return 1;
}
