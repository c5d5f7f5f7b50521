/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests/bench/run measures: one kind of work, as much as is told. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t shared;

static uint64_t loop(long n)
{
	uint64_t x = 1;

	for (long i = 0; i < n; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static uint64_t reads(long n)
{
	int fd = open("/dev/zero", O_RDONLY);
	char byte;

	for (long i = 0; i < n; i++)
		if (read(fd, &byte, 1) != 1)
			exit(1);
	return n;
}

static void *add(void *arg)
{
	for (long i = 0; i < *(long *)arg / 4; i++) {
		pthread_mutex_lock(&lock);
		shared += loop(20) & 1;
		pthread_mutex_unlock(&lock);
		loop(100);
	}
	return NULL;
}

static uint64_t threads(long n)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, add, &n))
			exit(1);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return shared;
}

static const struct {
	const char *name;
	uint64_t (*run)(long n);
} kinds[] = {
	{"loop",	 loop   },
	{"reads",	  reads  },
	{"threads", threads},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, argv[1])) {
			printf("%llx\n", (unsigned long long)kinds[i].run(atol(argv[2])));
			return 0;
		}
	return 2;
}
