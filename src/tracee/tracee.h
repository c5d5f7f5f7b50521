/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tracee.h - checked ptrace of one task: registers, memory, remote system
 * calls through the agent, and wait statuses decoded.
 *
 * All calls return 0 or -errno. -ESRCH: the task is gone (a SIGKILL can take
 * it out of any ptrace stop), which callers treat as "wait for its end".
 */
#ifndef PLAYHEAD_TRACEE_H
#define PLAYHEAD_TRACEE_H

#include <signal.h>

#include "base/base.h"
#include "arch/x86_64/regs.h"

/*
 * The agent's area, mapped in every tracee at every exec: a code page
 * (r-x) that begins with `syscall; int3` (AGENT_SYSCALL), then data pages
 * (rw-) for the supervisor's scratch. The seccomp filter lets system calls
 * from it pass.
 */
#define AGENT_BASE	0x70000000UL
#define AGENT_SIZE	0x10000UL
#define AGENT_SYSCALL	AGENT_BASE
#define AGENT_DATA	(AGENT_BASE + PAGE_BYTES)
#define AGENT_DATA_SIZE (AGENT_SIZE - PAGE_BYTES)

int tracee_get_regs(pid_t tid, struct regs *regs) __must_check;
int tracee_set_regs(pid_t tid, const struct regs *regs) __must_check;

/* The XSAVE image (NT_X86_XSTATE). *@len: room in, bytes out. */
#define XSTATE_MAX 16384
int tracee_get_xstate(pid_t tid, void *buf, size_t *len) __must_check;
int tracee_set_xstate(pid_t tid, const void *buf, size_t len) __must_check;

/* All @n bytes or -EFAULT. */
int tracee_read(pid_t tid, u64 addr, void *buf, size_t n) __must_check;
/* As many bytes from @addr as can be read: 0..@n, never an error. */
size_t tracee_read_some(pid_t tid, u64 addr, void *buf, size_t n);
/* Writes whatever the protection says (FOLL_FORCE: private copy on write). */
int tracee_write(pid_t tid, u64 addr, const void *buf, size_t n) __must_check;
/* A NUL-terminated string of at most @n bytes with its NUL; -ENAMETOOLONG. */
int tracee_read_str(pid_t tid, u64 addr, char *buf, size_t n) __must_check;

/*
 * Map the agent in a task stopped by ptrace, by injecting mmap through a
 * `syscall` instruction (0f 05) that the task already has mapped executable
 * at @syscall_ip; @syscall_ip 0: search the task's [vdso]. Registers are put
 * back.
 */
int tracee_map_agent(pid_t tid, u64 syscall_ip) __must_check;

/*
 * Run one system call in a stopped task through the agent. *@ret gets the raw
 * kernel result (-4095..-1 are errors). Registers are put back. The task must
 * not have a pending ptrace event; fatal signals give -ESRCH.
 */
int tracee_syscall(pid_t tid, s64 *ret, long nr, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4,
		   u64 a5) __must_check;

/* Resume: @how is PTRACE_CONT, _SYSCALL, _SYSEMU, _SINGLESTEP, _LISTEN ... */
int tracee_resume(pid_t tid, int how, int sig) __must_check;

enum stop_kind {
	TRACEE_EXITED,	/* code */
	TRACEE_KILLED,	/* sig */
	TRACEE_SYSCALL, /* syscall-enter or -exit stop (or SYSEMU) */
	TRACEE_EVENT,	/* PTRACE_EVENT_*: event; message by PTRACE_GETEVENTMSG */
	TRACEE_GROUP,	/* group stop of a seized task: sig */
	TRACEE_SIGNAL,	/* signal-delivery stop: sig */
};

struct tracee_stop {
	pid_t tid;
	enum stop_kind kind;
	int sig;
	int event;
	int code;
	int status; /* as wait gave it */
};

/* Decode a waitpid status. Needs PTRACE_O_TRACESYSGOOD. Pure. */
void tracee_stop_decode(struct tracee_stop *s, pid_t tid, int status);
/* waitpid(@tid, __WALL | @flags) with EINTR passed on as -EINTR; no task
 * left: -ECHILD; WNOHANG and nothing there: -EAGAIN. */
int tracee_wait(pid_t tid, int flags, struct tracee_stop *s) __must_check;

#endif
