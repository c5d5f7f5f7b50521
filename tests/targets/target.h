/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * target.h - what the programs that tests record have in common. Each does
 * one thing, checks its outcome itself, prints something that is the same in
 * every run, and exits 0; 1 means that a check failed.
 */
#ifndef TARGET_H
#define TARGET_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(what)                                                                        \
	do {                                                                               \
		if (!(what)) {                                                             \
			printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #what,               \
			       strerror(errno));                                           \
			exit(1);                                                           \
		}                                                                          \
	} while (0)

/* The size of the work, if the program was told one. */
static inline int target_scale(int argc, char **argv)
{
	return argc > 1 ? atoi(argv[1]) : 1;
}

/* Some work that the compiler cannot leave out: about 1 ns a step. */
static inline uint64_t target_work(uint64_t seed, long steps)
{
	for (long i = 0; i < steps; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(seed));
	}
	return seed;
}

#endif
