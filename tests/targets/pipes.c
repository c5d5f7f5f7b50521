/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pipes between processes: blocking, partial, non-blocking, EOF, EPIPE. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include "target.h"

int main(void)
{
	static char buf[100000];
	uint64_t sum = 0;
	long total = 0;
	int p[2];
	ssize_t n;
	pid_t pid;

	CHECK(!pipe(p));
	pid = fork();
	if (!pid) {
		close(p[0]);
		for (int i = 0; i < 5; i++) {
			memset(buf, 'a' + i, sizeof(buf));
			CHECK(write(p[1], buf, sizeof(buf)) == sizeof(buf));
		}
		_exit(0);
	}
	close(p[1]);
	while ((n = read(p[0], buf, sizeof(buf))) > 0) {
		total += n;
		for (ssize_t i = 0; i < n; i++)
			sum = sum * 31 + buf[i];
	}
	CHECK(n == 0 && total == 500000);
	CHECK(waitpid(pid, NULL, 0) == pid);
	close(p[0]);
	CHECK(!pipe2(p, O_NONBLOCK | O_CLOEXEC));
	CHECK(read(p[0], buf, 1) == -1 && errno == EAGAIN);
	close(p[0]);
	signal(SIGPIPE, SIG_IGN);
	CHECK(write(p[1], buf, 1) == -1 && errno == EPIPE);
	printf("%ld bytes, %llx\n", total, (unsigned long long)sum);
	return 0;
}
