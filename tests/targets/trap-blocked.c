/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trapped instructions with SIGSEGV blocked, ignored or handled change none of
 * that. */
#include <cpuid.h>
#include <signal.h>
#include <sys/wait.h>
#include <x86intrin.h>
#include "target.h"

static void on_segv(int sig)
{
	_exit(7);
}

static void trap(void)
{
	unsigned int a, b, c, d;
	unsigned long long t = __rdtsc();

	CHECK(__get_cpuid(0, &a, &b, &c, &d) && __rdtsc() >= t);
}

static void same(void (*handler)(int), int blocked)
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_NODEFER}, got;
	sigset_t set;

	CHECK(!sigaction(SIGSEGV, &act, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	CHECK(!sigprocmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL));
	trap();
	CHECK(!sigaction(SIGSEGV, NULL, &got) && got.sa_handler == handler);
	CHECK((got.sa_flags & SA_NODEFER) == SA_NODEFER);
	CHECK(!sigprocmask(SIG_BLOCK, NULL, &set));
	CHECK(sigismember(&set, SIGSEGV) == blocked);
}

int main(void)
{
	int status;
	pid_t pid;

	same(SIG_DFL, 1);
	same(on_segv, 1);
	same(SIG_IGN, 0);
	same(SIG_IGN, 1);
	same(on_segv, 0);
	pid = fork();
	if (!pid) {
		same(on_segv, 1);
		same(on_segv, 0);
		raise(SIGSEGV);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
	puts("unchanged");
	return 0;
}
