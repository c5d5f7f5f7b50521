/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first thread ends before the others; exit_group comes from a third. */
#include <pthread.h>
#include "target.h"

static pthread_t first;

static void *last(void *arg)
{
	CHECK(!pthread_join(first, NULL));
	puts("last");
	exit(5);
}

int main(void)
{
	pthread_t t;

	first = pthread_self();
	CHECK(!pthread_create(&t, NULL, last, NULL));
	pthread_exit(NULL);
}
