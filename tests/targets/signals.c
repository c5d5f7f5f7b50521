/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Handlers: nested, masked, with siginfo, queued real-time ones, kept errno. */
#include <signal.h>
#include "target.h"

static volatile sig_atomic_t depth, deepest, usr1, order[8], n_order;

static void nested(int sig, siginfo_t *info, void *ctx)
{
	if (++depth > deepest)
		deepest = depth;
	usr1++;
	if (usr1 < 4)
		raise(SIGUSR1);
	depth--;
	errno = 77;
}

static void queued(int sig, siginfo_t *info, void *ctx)
{
	if (n_order < 8)
		order[n_order++] = info->si_value.sival_int;
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = nested,
				.sa_flags = SA_SIGINFO | SA_NODEFER};
	sigset_t set, pending;

	sigaction(SIGUSR1, &act, NULL);
	raise(SIGUSR1);
	CHECK(usr1 == 4 && deepest == 4);
	act.sa_flags = SA_SIGINFO;
	usr1 = deepest = 0;
	sigaction(SIGUSR1, &act, NULL);
	raise(SIGUSR1);
	CHECK(usr1 == 4 && deepest == 1);
	act.sa_sigaction = queued;
	sigaction(SIGRTMIN, &act, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 5; i++)
		CHECK(!sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i}));
	CHECK(!sigpending(&pending) && sigismember(&pending, SIGRTMIN));
	CHECK(n_order == 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	CHECK(n_order == 5);
	for (int i = 0; i < 5; i++)
		CHECK(order[i] == i);
	act.sa_handler = SIG_IGN;
	act.sa_flags = 0;
	sigaction(SIGTERM, &act, NULL);
	CHECK(!raise(SIGTERM));
	puts("signals");
	return 0;
}
