/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Children that end with a status, by a signal, and one that stops and goes on. */
#include <signal.h>
#include <sys/wait.h>
#include "target.h"

static int child(int how)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		if (how < 0)
			raise(-how);
		_exit(how);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

int main(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN, .sa_flags = SA_NOCLDWAIT};
	siginfo_t info;
	int status, n = 0;
	pid_t pid;

	for (int i = 0; i < 20; i++)
		CHECK(WEXITSTATUS(child(i)) == i);
	CHECK(WTERMSIG(child(-SIGTERM)) == SIGTERM);
	CHECK(WTERMSIG(child(-SIGKILL)) == SIGKILL);
	for (int i = 0; i < 5; i++)
		if (!(pid = fork()))
			_exit(7);
	while (!waitid(P_ALL, 0, &info, WEXITED)) {
		CHECK(info.si_status == 7 && info.si_code == CLD_EXITED);
		n++;
	}
	CHECK(n == 5 && errno == ECHILD);
	pid = fork();
	if (!pid) {
		raise(SIGSTOP);
		_exit(3);
	}
	CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	kill(pid, SIGCONT);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3);
	sigaction(SIGCHLD, &ignore, NULL);
	pid = fork();
	if (!pid)
		_exit(0);
	CHECK(wait(NULL) == -1 && errno == ECHILD);
	puts("waited");
	return 0;
}
