/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * debuggee.c - what the gdb tests debug: every interaction has its place here,
 * named so that a breakpoint finds it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, used))

volatile long counter, handled;
__thread int tls_var = 7;
char area[256] = "the needle lies here";
struct item {
	long id;
	char name[16];
} items[40];

KEEP long twice(long n)
{
	return 2 * n;
}

KEEP long crash(void)
{
	return *(volatile long *)8;
}

KEEP long callee(long n)
{
	counter += n;
	return counter;
}

KEEP long recurse(long n)
{
	if (n <= 0)
		return 0;
	return n + recurse(n - 1);
}

KEEP void fill(long k)
{
	for (long i = 0; i < 40; i++) {
		items[i].id += k;
		callee(1);
	}
}

KEEP void copy(const char *from, size_t n)
{
	__asm__ volatile("cld; rep movsb" : : "S"(from), "D"(area + 64), "c"(n) : "memory");
}

static void on_usr1(int sig)
{
	handled += sig;
}

static void *thread_main(void *arg)
{
	tls_var = 100 + (int)(long)arg;
	callee(tls_var);
	usleep(1000);
	fill(3);
	return NULL;
}

KEEP void last_words(long sum)
{
	char line[64];

	snprintf(line, sizeof(line), "counter %ld sum %ld\n", counter, sum);
	if (write(1, line, strlen(line)) < 0)
		exit(9);
}

int main(void)
{
	pthread_t t[2];
	long sum = 0;

	signal(SIGUSR1, on_usr1);
	fill(1);
	sum += recurse(6);
	copy("rep movs writes this", 20);
	sum += callee(5);
	kill(getpid(), SIGUSR1);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, thread_main, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	fill(2);
	last_words(sum);
	return 3;
}
