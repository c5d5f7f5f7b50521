/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A read that a signal interrupts: restarted with SA_RESTART, EINTR without. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include "target.h"

static volatile sig_atomic_t hits;

static void on_usr1(int sig)
{
	hits++;
}

static ssize_t interrupted_read(int flags)
{
	struct sigaction act = {.sa_handler = on_usr1, .sa_flags = flags};
	ssize_t n;
	int p[2], err;
	char c;
	pid_t pid;

	sigaction(SIGUSR1, &act, NULL);
	CHECK(!pipe(p));
	pid = fork();
	if (!pid) {
		usleep(20000);
		kill(getppid(), SIGUSR1);
		usleep(20000);
		CHECK(write(p[1], "x", 1) == 1);
		_exit(0);
	}
	n = read(p[0], &c, 1);
	err = errno;
	while (waitpid(pid, NULL, 0) < 0)
		;
	close(p[0]);
	close(p[1]);
	errno = err;
	return n;
}

int main(void)
{
	CHECK(interrupted_read(SA_RESTART) == 1);
	CHECK(hits == 1);
	CHECK(interrupted_read(0) == -1 && errno == EINTR);
	CHECK(hits == 2);
	puts("restarted once");
	return 0;
}
