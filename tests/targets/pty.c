/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A terminal: its settings, line discipline, window size, job's SIGINT and HUP. */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include "target.h"

static volatile sig_atomic_t interrupted;

static void on_int(int sig)
{
	interrupted = 1;
}

static int child(const char *name)
{
	struct sigaction act = {.sa_handler = on_int};
	struct winsize ws;
	struct termios t;
	char line[64];
	ssize_t n;
	int fd;

	sigaction(SIGINT, &act, NULL);
	CHECK(setsid() > 0);
	CHECK((fd = open(name, O_RDWR)) >= 0);
	CHECK(isatty(fd) && !tcgetattr(fd, &t) && (t.c_lflag & ICANON));
	CHECK(!ioctl(fd, TIOCGWINSZ, &ws) && ws.ws_row == 33 && ws.ws_col == 77);
	CHECK(write(fd, "ready\n", 6) == 6);
	n = read(fd, line, sizeof(line));
	CHECK(n == 6 && !memcmp(line, "hello\n", 6));
	CHECK(write(fd, "got it\n", 7) == 7);
	while (!interrupted)
		pause();
	return 11;
}

static void expect(int fd, const char *what)
{
	char buf[256];
	size_t n = 0;

	do {
		ssize_t r = read(fd, buf + n, sizeof(buf) - 1 - n);

		CHECK(r > 0);
		n += r;
		buf[n] = '\0';
	} while (!strstr(buf, what));
}

int main(void)
{
	struct winsize ws = {.ws_row = 33, .ws_col = 77};
	int master = posix_openpt(O_RDWR | O_NOCTTY), status;
	char name[64];
	pid_t pid;

	CHECK(master >= 0 && !grantpt(master) && !unlockpt(master));
	CHECK(!ptsname_r(master, name, sizeof(name)));
	CHECK(!ioctl(master, TIOCSWINSZ, &ws));
	pid = fork();
	if (!pid)
		_exit(child(name));
	expect(master, "ready");
	CHECK(write(master, "hellx\177o\n", 8) == 8);
	expect(master, "got it");
	CHECK(write(master, "\003", 1) == 1);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 11);
	puts("terminal");
	return 0;
}
