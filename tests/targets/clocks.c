/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every clock there is, printed; and that they do not run backwards. */
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include "target.h"

int main(void)
{
	static const clockid_t ids[] = {CLOCK_REALTIME,		CLOCK_MONOTONIC,
					CLOCK_BOOTTIME,		CLOCK_MONOTONIC_RAW,
					CLOCK_REALTIME_COARSE,	CLOCK_PROCESS_CPUTIME_ID,
					CLOCK_THREAD_CPUTIME_ID};
	struct timespec ts, last = {0};
	struct rusage ru;
	struct timeval tv;
	struct tms tms;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		CHECK(!clock_gettime(ids[i], &ts));
		printf("%d %lld.%09ld\n", ids[i], (long long)ts.tv_sec, ts.tv_nsec);
		CHECK(!clock_getres(ids[i], &ts));
	}
	for (int i = 0; i < 1000; i++) {
		CHECK(!clock_gettime(CLOCK_MONOTONIC, &ts));
		CHECK(ts.tv_sec > last.tv_sec ||
		      (ts.tv_sec == last.tv_sec && ts.tv_nsec >= last.tv_nsec));
		last = ts;
	}
	CHECK(!gettimeofday(&tv, NULL) && !getrusage(RUSAGE_SELF, &ru));
	printf("%lld %ld %lld\n", (long long)tv.tv_usec, ru.ru_utime.tv_usec,
	       (long long)time(NULL));
	CHECK(times(&tms) != (clock_t)-1);
	return 0;
}
