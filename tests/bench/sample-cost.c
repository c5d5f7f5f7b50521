/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sample-cost.c - what a sample costs the program that it is taken of.
 *
 * A child runs one piece of work again and again, by turns sampled and not, so
 * that whatever else the machine does meets both alike. Printed is, for each
 * sampler and piece of work, the ratio of the two and, from it, the time of
 * one sample. The best round of each counts: noise only ever adds.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sample/sampler.h"

#define HZ     4000
#define ROUNDS 12

static u64 sink;

/* Depth of stack under the work: little of it, or more than a print takes. */
static __attribute__((noinline)) u64 deep(int pages)
{
	volatile u8 frame[PAGE_BYTES];

	for (size_t i = 0; i < sizeof(frame); i += 64)
		frame[i] = i;
	if (pages)
		return deep(pages - 1) + frame[64];
	for (u64 i = 0; i < 120000000; i++)
		sink = sink * 3 + i;
	return frame[0];
}

struct node {
	struct node *next[8];
};

/* Registers that point to words that point: all windows are there. */
static u64 chase(int unused)
{
	static struct node nodes[4096];
	struct node *a = nodes, *b = nodes + 1, *c = nodes + 2, *d = nodes + 3;

	for (int i = 0; i < 4096; i++)
		for (int k = 0; k < 8; k++)
			nodes[i].next[k] = &nodes[(i * 8 + k * 77 + 1) % 4096];
	for (u64 i = 0; i < 12000000; i++) {
		a = a->next[i & 7];
		b = b->next[(u64)a >> 6 & 7];
		c = c->next[1];
		d = d->next[2];
	}
	return (u64)a ^ (u64)b ^ (u64)c ^ (u64)d;
}

static const struct work {
	const char *name;
	u64 (*run)(int);
	int arg;
} works[] = {
	{"loop, small stack",     deep,  0},
	{"loop, deep stack",	     deep,  6},
	{"pointers, small stack", chase, 0},
};

static u64 cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NSEC_PER_SEC +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

/* One round for each byte read; its CPU time goes back. */
static void child(const struct work *w, int in, int out)
{
	char byte;

	while (read(in, &byte, 1) == 1) {
		u64 t = cpu_ns();

		sink += w->run(w->arg);
		t = cpu_ns() - t;
		if (write(out, &t, sizeof(t)) != sizeof(t))
			break;
	}
	_exit(0);
}

static void count(void *ctx, struct sample *s)
{
	++*(u64 *)ctx;
}

static u64 round_ns(int to, int from)
{
	u64 t;

	if (write(to, "r", 1) != 1 || read(from, &t, sizeof(t)) != sizeof(t)) {
		fprintf(stderr, "sample-cost: the child is gone\n");
		exit(1);
	}
	return t;
}

static void measure(struct sampler *s, const struct work *w)
{
	u64 best[2] = {~0UL, ~0UL}, samples = 0, t, rounds = 0;
	int to[2], from[2];
	pid_t pid;

	if (pipe(to) || pipe(from))
		exit(1);
	pid = fork();
	if (!pid) {
		close(to[1]);
		close(from[0]);
		child(w, to[0], from[1]);
	}
	for (int i = 0; i < ROUNDS; i++) {
		t = round_ns(to[1], from[0]);
		best[0] = MIN(best[0], t);
		if (sampler_thread_add(s, pid))
			exit(1);
		t = round_ns(to[1], from[0]);
		best[1] = MIN(best[1], t);
		sampler_thread_del(s, pid);
		if (sampler_drain(s, count, &samples))
			exit(1);
		rounds++;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(to[0]);
	close(to[1]);
	close(from[0]);
	close(from[1]);
	printf("%-24s %6.1f ms  x%.4f at %d Hz, %5.1f us a sample, %lu samples a round\n",
	       w->name, best[0] / 1e6, (double)best[1] / best[0], HZ,
	       (best[1] - (double)best[0]) / 1e3 * rounds / (samples ? samples : 1),
	       samples / rounds);
}

int main(void)
{
	static const char *const names[] = {
		[SAMPLER_BPF] = "BPF", [SAMPLER_PERF] = "perf ring"};
	cpu_set_t one;

	/* As the recorder does: the event of the perf ring is one CPU's. */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (enum sampler_kind k = SAMPLER_BPF; k <= SAMPLER_PERF; k++) {
		struct sampler_opts o = {.hz = HZ, .at_best = k};
		struct sampler *s;

		if (sampler_new(&s, &o))
			return 1;
		if (sampler_kind(s) != k) {
			printf("%s: not here: %s\n", names[k], sampler_why(s));
		} else {
			printf("%s\n", names[k]);
			for (size_t i = 0; i < ARRAY_SIZE(works); i++)
				measure(s, &works[i]);
		}
		sampler_free(s);
	}
	return 0;
}
