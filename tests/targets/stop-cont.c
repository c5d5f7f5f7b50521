/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Children that are stopped and continued: one asleep, one busy, one by itself. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include "target.h"

static void *busy(void *arg)
{
	for (;;)
		target_work(1, 1000);
	return NULL;
}

static void child(int kind)
{
	pthread_t t;

	if (kind == 0)
		for (;;)
			pause();
	if (kind == 1) {
		pthread_create(&t, NULL, busy, NULL);
		busy(NULL);
	}
	raise(SIGSTOP);
	_exit(4);
}

int main(void)
{
	int status;
	pid_t pid;

	for (int kind = 0; kind < 3; kind++) {
		pid = fork();
		if (!pid)
			child(kind);
		usleep(20000);
		if (kind < 2)
			CHECK(!kill(pid, SIGSTOP));
		CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
		CHECK(WSTOPSIG(status) == SIGSTOP);
		CHECK(!waitpid(pid, &status, WNOHANG));
		CHECK(!kill(pid, SIGCONT));
		CHECK(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status));
		if (kind < 2)
			CHECK(!kill(pid, SIGTERM));
		CHECK(waitpid(pid, &status, 0) == pid);
		printf("%d: %#x\n", kind, status);
	}
	return 0;
}
