/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vfork shares memory until exec; what the child wrote is seen by its parent. */
#include <sys/wait.h>
#include "target.h"

int main(void)
{
	volatile int seen = 0;
	int status;
	pid_t pid;

	for (int i = 0; i < 3; i++) {
		pid = vfork();
		if (!pid) {
			seen = seen + 1;
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	}
	pid = vfork();
	if (!pid) {
		seen = seen + 10;
		_exit(9);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 9);
	CHECK(seen == 13);
	pid = vfork();
	if (!pid) {
		execl("/nonexistent/program", "x", (char *)NULL);
		_exit(errno == ENOENT ? 4 : 5);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 4);
	printf("seen %d\n", seen);
	return 0;
}
