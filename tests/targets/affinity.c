/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CPUs that the program may use are those it was started with. */
#include <sched.h>
#include "target.h"

int main(void)
{
	unsigned int cpu, node;
	cpu_set_t set, got;

	CHECK(!sched_getaffinity(0, sizeof(set), &set));
	printf("%d cpus\n", CPU_COUNT(&set));
	CHECK(!getcpu(&cpu, &node) && CPU_ISSET(cpu, &set));
	CHECK(sched_getcpu() >= 0);
	CPU_ZERO(&got);
	CPU_SET(cpu, &got);
	CHECK(!sched_setaffinity(0, sizeof(got), &got));
	CHECK(!sched_getaffinity(0, sizeof(got), &got));
	CHECK(CPU_COUNT(&got) == 1 && CPU_ISSET(cpu, &got));
	CHECK(sysconf(_SC_NPROCESSORS_ONLN) >= 1);
	return 0;
}
