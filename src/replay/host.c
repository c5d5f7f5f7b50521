/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * host.c - the kernel tasks that replayed address spaces live in.
 *
 * The first one, the seed, is forked from the supervisor and emptied; every
 * other is forked from it or from another host by an injected fork, and is
 * traced from its first instruction on (PTRACE_O_TRACEFORK).
 */
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "replay/replay.h"

#ifndef ARCH_SET_CPUID
#define ARCH_SET_CPUID 0x1012
#endif

static void seed_child(int wait_fd)
{
	char c;

	/* Until the supervisor has seized us. */
	if (read(wait_fd, &c, 1) != 1)
		_exit(1);
	/* A registered rseq area would be written at every preemption, wherever
	 * it then lies in the replayed program. */
	if (__rseq_size)
		syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset,
			MAX(__rseq_size, 32U), 1 /* RSEQ_FLAG_UNREGISTER */, RSEQ_SIG);
	/* Forked hosts are children of hosts, which never wait: with SIGCHLD
	 * ignored the kernel reaps them. */
	signal(SIGCHLD, SIG_IGN);
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGCHLD)
			signal(sig, SIG_DFL);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Ctrl-C at the terminal is for the supervisor. */
	setpgid(0, 0);
	syscall(SYS_set_tid_address, 0);
	syscall(SYS_set_robust_list, 0, 24);
	personality(ADDR_NO_RANDOMIZE);
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	/* Fails where CPUID cannot fault; then it was not trapped either. */
	syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
	raise(SIGSTOP);
	_exit(1);
}

static int wait_stop(pid_t pid, struct tracee_stop *s)
{
	int err;

	do
		err = tracee_wait(pid, 0, s);
	while (err == -EINTR);
	if (!err && (s->kind == TRACEE_EXITED || s->kind == TRACEE_KILLED))
		err = -ESRCH;
	return err;
}

/* Everything but the agent goes: the supervisor's own memory, the vDSO. */
static int empty(pid_t pid)
{
	const u64 end = AGENT_BASE + AGENT_SIZE;
	s64 ret;
	int err;

	err = tracee_syscall(pid, &ret, SYS_munmap, 0, AGENT_BASE, 0, 0, 0, 0);
	if (!err && ret)
		err = (int)ret;
	if (!err)
		err = tracee_syscall(pid, &ret, SYS_munmap, end, USER_TOP - end, 0, 0, 0,
				     0);
	if (!err && ret)
		err = (int)ret;
	/* The supervisor's files are not to be held by every host. */
	if (!err)
		err = tracee_syscall(pid, &ret, SYS_close_range, 0, ~0U, 0, 0, 0, 0);
	return err;
}

int host_seed(pid_t *out)
{
	const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK;
	struct tracee_stop s;
	int err = 0, fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		seed_child(fds[0]);
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, 0, (void *)options) ||
	    write(fds[1], "", 1) != 1)
		err = -errno;
	close(fds[0]);
	close(fds[1]);
	if (!err)
		err = wait_stop(pid, &s);
	if (!err)
		err = tracee_map_agent(pid, 0);
	if (!err)
		err = empty(pid);
	if (err) {
		log_error("cannot make a task to replay in: %s", strerror(-err));
		host_kill(pid);
		return err;
	}
	*out = pid;
	return 0;
}

int host_fork(pid_t from, pid_t *out)
{
	struct tracee_stop s;
	s64 ret;
	int err;

	err = tracee_syscall(from, &ret, SYS_fork, 0, 0, 0, 0, 0, 0);
	if (!err && ret < 0)
		err = (int)ret;
	if (!err)
		err = wait_stop(ret, &s);
	if (err) {
		log_error("cannot copy a replayed process: %s", strerror(-err));
		return err;
	}
	*out = ret;
	return 0;
}

void host_kill(pid_t pid)
{
	struct tracee_stop s;
	int err;

	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	do
		err = tracee_wait(pid, 0, &s);
	while (err == -EINTR ||
	       (!err && s.kind != TRACEE_EXITED && s.kind != TRACEE_KILLED));
}

int host_init_xstate(pid_t pid)
{
	u8 buf[XSTATE_MAX];
	size_t len = sizeof(buf);
	int err;

	err = tracee_get_xstate(pid, buf, &len);
	if (err)
		return err;
	/* The legacy area (SDM vol. 1, 10.5.1) with FCW and MXCSR at their reset
	 * values; bytes 464..511 belong to software and name XCR0; an XSTATE_BV
	 * of 0 puts every component into its initial state. */
	memset(buf, 0, 464);
	memset(buf + 512, 0, len - 512);
	buf[0] = 0x7f;
	buf[1] = 0x03;
	buf[24] = 0x80;
	buf[25] = 0x1f;
	return tracee_set_xstate(pid, buf, len);
}
