/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vector registers survive signals whose handlers use them, and preemption. */
#include <immintrin.h>
#include <signal.h>
#include <sys/time.h>
#include "target.h"

static volatile sig_atomic_t ticks;
static volatile float scratch[8];

static void on_prof(int sig)
{
	for (int i = 0; i < 8; i++)
		scratch[i] = scratch[i] * 1.5f + ticks;
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0; pcmpeqd %%xmm7, %%xmm7" ::
				 : "xmm0", "xmm7");
	ticks++;
}

static double sse(long n)
{
	double a = 1, b = 2, c = 3;

	for (long i = 0; i < n; i++) {
		a = a * 1.0000001 + b * 1e-9;
		b = b * 0.9999999 + c * 1e-9;
		c = c + a * 1e-9;
	}
	return a + b + c;
}

__attribute__((target("avx2"))) static long avx(long n)
{
	__m256i a = _mm256_set1_epi32(3), b = _mm256_set1_epi32(5);
	int out[8];

	for (long i = 0; i < n; i++) {
		a = _mm256_add_epi32(_mm256_mullo_epi32(a, b), b);
		__asm__ volatile("" : "+x"(a));
	}
	_mm256_storeu_si256((__m256i *)out, a);
	for (int i = 1; i < 8; i++)
		CHECK(out[i] == out[0]);
	return out[0];
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_prof, .sa_flags = SA_RESTART};
	struct itimerval every = {
		{0, 1000},
		   {0, 1000}
	    };
	double first = sse(1000000);
	long want = __builtin_cpu_supports("avx2") ? avx(1000000) : 0;

	sigaction(SIGPROF, &act, NULL);
	setitimer(ITIMER_PROF, &every, NULL);
	while (ticks < 20) {
		CHECK(sse(1000000) == first);
		if (want)
			CHECK(avx(1000000) == want);
	}
	printf("%.17g\n", first);
	return 0;
}
