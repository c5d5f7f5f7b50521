/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals taken without a handler: sigwait, sigtimedwait, signalfd, sigsuspend. */
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include "target.h"

static volatile sig_atomic_t hits;

static void on_usr1(int sig)
{
	hits++;
}

static void later(int sig)
{
	if (!fork()) {
		usleep(5000);
		kill(getppid(), sig);
		_exit(0);
	}
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_usr1};
	struct timespec ms = {.tv_nsec = 1000000};
	struct signalfd_siginfo info;
	sigset_t set, none;
	siginfo_t si;
	int sig, fd;

	sigemptyset(&none);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	CHECK(!sigprocmask(SIG_BLOCK, &set, NULL));
	later(SIGUSR2);
	CHECK(!sigwait(&set, &sig) && sig == SIGUSR2);
	CHECK(sigtimedwait(&set, &si, &ms) == -1 && errno == EAGAIN);
	later(SIGUSR1);
	CHECK(sigwaitinfo(&set, &si) == SIGUSR1 && si.si_code == SI_USER);
	CHECK((fd = signalfd(-1, &set, 0)) >= 0);
	later(SIGUSR2);
	CHECK(read(fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGUSR2);
	sigaction(SIGUSR1, &act, NULL);
	later(SIGUSR1);
	CHECK(sigsuspend(&none) == -1 && errno == EINTR && hits == 1);
	while (wait(NULL) > 0)
		;
	puts("waited");
	return 0;
}
