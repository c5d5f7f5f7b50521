/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stop-child.h - a child of the test itself, seized and stopped, with the
 * agent mapped. Its memory is the test's as of the fork.
 */
#ifndef PLAYHEAD_TESTS_STOP_CHILD_H
#define PLAYHEAD_TESTS_STOP_CHILD_H

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stop/stop.h"

static pid_t child;

static void child_start(void)
{
	struct tracee_stop st;

	child = fork();
	assert_true(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_int_equal(
		ptrace(PTRACE_SEIZE, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL),
		0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, child, 0, 0), 0);
	assert_int_equal(tracee_wait(child, 0, &st), 0);
	assert_int_equal(tracee_map_agent(child, 0), 0);
}

static void child_end(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* It ran into the int3 that ends it. */
static bool is_end(const struct stop_result *res)
{
	return res->kind == STOPPED_OTHER && res->stop.kind == TRACEE_SIGNAL &&
	       res->stop.sig == SIGTRAP;
}

static bool bpf_works(void)
{
	char why[200];

	if (!stops_probe(STOP_BPF, why, sizeof(why)))
		return true;
	print_message("no BPF here: %s\n", why);
	return false;
}

#endif
