/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Anonymous memory that parent and child share; they take turns in it. */
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "target.h"

struct shared {
	atomic_int turn;
	uint64_t sum;
};

static void take_turns(struct shared *s, int me)
{
	for (int i = 0; i < 200; i++) {
		while (atomic_load(&s->turn) != me)
			sched_yield();
		s->sum = target_work(s->sum + me, 100);
		atomic_store(&s->turn, !me);
	}
}

int main(void)
{
	struct shared *s =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	CHECK(s != MAP_FAILED);
	s->sum = 17;
	pid = fork();
	CHECK(pid >= 0);
	take_turns(s, !pid);
	if (!pid)
		_exit(0);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	printf("%llx\n", (unsigned long long)s->sum);
	return 0;
}
