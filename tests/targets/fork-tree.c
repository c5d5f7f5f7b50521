/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tree of processes, each with work of its own, in groups and sessions. */
#include <sys/prctl.h>
#include <sys/wait.h>
#include "target.h"

static int grow(int depth, uint64_t seed)
{
	int status, n = 1;

	if (!depth)
		return 1 + (int)(target_work(seed, 300000) & 0);
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			_exit(grow(depth - 1, seed * 2 + i));
	}
	while (wait(&status) > 0) {
		CHECK(WIFEXITED(status));
		n += WEXITSTATUS(status);
	}
	return n;
}

int main(void)
{
	int status;
	pid_t pid;

	printf("%d processes\n", grow(4, 1));
	fflush(stdout);
	CHECK(!prctl(PR_SET_CHILD_SUBREAPER, 1));
	/* An orphan comes to us. */
	pid = fork();
	if (!pid) {
		if (!fork()) {
			setsid();
			usleep(1000);
			_exit(8);
		}
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(wait(&status) > 0 && WEXITSTATUS(status) == 8);
	return 0;
}
