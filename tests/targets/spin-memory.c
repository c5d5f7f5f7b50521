/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A loop that changes memory and no register until another thread ends it: the
 * registers are the same at every pass, only the counters tell them apart. What
 * it counted is printed: replay must stop it at the very pass.
 */
#include <pthread.h>
#include "target.h"

static volatile int flag;
static volatile uint64_t counters[3];

static void *set(void *arg)
{
	target_work(1, 8000000);
	flag = 1;
	return NULL;
}

int main(void)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, set, NULL));
	__asm__ volatile("1:	incq %0\n"
			 "	addq $3, %1\n"
			 "	cmpl $0, %3\n"
			 "	jne 2f\n"
			 "	xorq $5, %2\n"
			 "	jmp 1b\n"
			 "2:"
			 : "+m"(counters[0]), "+m"(counters[1]), "+m"(counters[2])
			 : "m"(flag)
			 : "cc", "memory");
	pthread_join(t, NULL);
	CHECK(counters[1] == counters[0] * 3);
	printf("%llu passes\n", (unsigned long long)counters[0]);
	return 0;
}
