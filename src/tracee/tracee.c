/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "tracee/tracee.h"

int tracee_get_regs(pid_t tid, struct regs *regs)
{
	struct user_regs_struct u;

	if (ptrace(PTRACE_GETREGS, tid, 0, &u))
		return -errno;
	regs_from_user(regs, &u);
	return 0;
}

int tracee_set_regs(pid_t tid, const struct regs *regs)
{
	struct user_regs_struct u;

	regs_to_user(regs, &u);
	return ptrace(PTRACE_SETREGS, tid, 0, &u) ? -errno : 0;
}

int tracee_get_xstate(pid_t tid, void *buf, size_t *len)
{
	struct iovec iov = {buf, *len};

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &iov))
		return -errno;
	*len = iov.iov_len;
	return 0;
}

int tracee_set_xstate(pid_t tid, const void *buf, size_t len)
{
	struct iovec iov = {(void *)buf, len};

	return ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &iov) ? -errno : 0;
}

size_t tracee_read_some(pid_t tid, u64 addr, void *buf, size_t n)
{
	size_t done = 0;

	/* A partial transfer ends at the first unreadable page; a remote range
	 * that starts readable never fails as a whole. */
	while (done < n) {
		struct iovec l = {(char *)buf + done, n - done};
		struct iovec r = {(void *)(addr + done), n - done};
		ssize_t got = process_vm_readv(tid, &l, 1, &r, 1, 0);

		if (got <= 0)
			break;
		done += got;
	}
	return done;
}

static int mem_open(pid_t tid, int flags)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", tid);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int tracee_read(pid_t tid, u64 addr, void *buf, size_t n)
{
	size_t done = tracee_read_some(tid, addr, buf, n);
	ssize_t got;
	int fd;

	if (done == n)
		return 0;
	/* PROT_NONE and execute-only pages: process_vm_readv honours the
	 * protection, /proc/PID/mem does not. */
	fd = mem_open(tid, O_RDONLY);
	if (fd < 0)
		return fd;
	got = pread(fd, (char *)buf + done, n - done, addr + done);
	close(fd);
	return got == (ssize_t)(n - done) ? 0 : -EFAULT;
}

int tracee_write(pid_t tid, u64 addr, const void *buf, size_t n)
{
	struct iovec l = {(void *)buf, n};
	struct iovec r = {(void *)addr, n};
	ssize_t got;
	int fd;

	if (!n || process_vm_writev(tid, &l, 1, &r, 1, 0) == (ssize_t)n)
		return 0;
	/* Read-only or executable pages: only /proc/PID/mem forces the write. */
	fd = mem_open(tid, O_RDWR);
	if (fd < 0)
		return fd;
	got = pwrite(fd, buf, n, addr);
	close(fd);
	return got == (ssize_t)n ? 0 : -EFAULT;
}

int tracee_read_str(pid_t tid, u64 addr, char *buf, size_t n)
{
	size_t done = 0;

	while (done < n) {
		size_t want = MIN(n - done, PAGE_BYTES - (addr + done) % PAGE_BYTES);
		size_t got = tracee_read_some(tid, addr + done, buf + done, want);

		if (memchr(buf + done, '\0', got))
			return 0;
		if (got < want)
			return -EFAULT;
		done += got;
	}
	return -ENAMETOOLONG;
}

/*
 * Run the system call that @regs ask for, at a `syscall` instruction that a
 * single step or an int3 follows; @regs get the result.
 */
/*
 * A fault of the program that an interrupting stop overtook. Blocked or not, the
 * kernel takes it off the queue before the SIGTRAP of our int3, since it was
 * raised first (dequeue_synchronous_signal()). It is dropped: its instruction
 * runs again and faults again.
 */
static bool is_overtaken_fault(const struct tracee_stop *s)
{
	siginfo_t si;

	if (s->kind != TRACEE_SIGNAL ||
	    (s->sig != SIGSEGV && s->sig != SIGBUS && s->sig != SIGFPE && s->sig != SIGILL))
		return false;
	return !ptrace(PTRACE_GETSIGINFO, s->tid, 0, &si) && si.si_code > 0 &&
	       (u64)si.si_addr != AGENT_SYSCALL;
}

static int run_to_trap(pid_t tid, struct regs *regs, int how)
{
	struct tracee_stop s;
	int err;

	for (;;) {
		err = tracee_resume(tid, how, 0);
		if (err)
			return err;
		do
			err = tracee_wait(tid, 0, &s);
		while (err == -EINTR);
		if (err)
			return err;
		if (s.kind == TRACEE_EXITED || s.kind == TRACEE_KILLED)
			return -ESRCH;
		if (s.kind == TRACEE_SIGNAL && s.sig == SIGTRAP)
			return tracee_get_regs(tid, regs);
		/* fork and clone report their event on the way out of the call. */
		if (s.kind == TRACEE_EVENT || is_overtaken_fault(&s))
			continue;
		log_error("task %d: status %#x in an injected system call", tid, s.status);
		return -EIO;
	}
}

/*
 * Signals that are pending, or come, would be delivered before the injected
 * call: a fault that an interrupting stop overtook (a trapped CPUID, say) as
 * much as a timer's. They are blocked meanwhile and stay pending. Not SIGTRAP:
 * int3 forces it, and the kernel resets the handler of a forced signal that is
 * blocked (force_sig_info_to_task()).
 */
static int run_injected(pid_t tid, struct regs *regs, int how)
{
	u64 old, all = ~(1UL << (SIGTRAP - 1));
	int err, err2;

	err = tracee_set_regs(tid, regs);
	if (err)
		return err;
	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof(old), &old) ||
	    ptrace(PTRACE_SETSIGMASK, tid, sizeof(all), &all))
		return -errno;
	err = run_to_trap(tid, regs, how);
	err2 = ptrace(PTRACE_SETSIGMASK, tid, sizeof(old), &old) ? -errno : 0;
	return err ? err : err2;
}

static u64 find_syscall_ip(pid_t tid)
{
	char path[32], line[512];
	u8 buf[PAGE_BYTES];
	u64 ip = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (!ip && fgets(line, sizeof(line), f)) {
		u64 start, end;

		if (!strstr(line, "[vdso]"))
			continue;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) != 2)
			continue;
		for (u64 a = start; a < end && !ip; a += PAGE_BYTES) {
			if (tracee_read_some(tid, a, buf, sizeof(buf)) != sizeof(buf))
				break;
			u8 *p = memmem(buf, sizeof(buf), "\x0f\x05", 2);

			if (p)
				ip = a + (p - buf);
		}
	}
	fclose(f);
	return ip;
}

static int inject_mmap(pid_t tid, const struct regs *from, u64 ip, u64 addr, u64 len,
		       int prot)
{
	struct regs r = *from;
	int err;

	r.r[X86_RIP] = ip;
	r.r[X86_RAX] = SYS_mmap;
	r.r[X86_RDI] = addr;
	r.r[X86_RSI] = len;
	r.r[X86_RDX] = prot;
	r.r[X86_R10] = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	r.r[X86_R8] = -1;
	r.r[X86_R9] = 0;
	r.r[X86_ORIG_RAX] = -1;
	err = run_injected(tid, &r, PTRACE_SINGLESTEP);
	if (err)
		return err;
	return r.r[X86_RAX] == addr ? 0 : (int)(s64)r.r[X86_RAX];
}

int tracee_map_agent(pid_t tid, u64 syscall_ip)
{
	static const u8 code[] = {0x0f, 0x05, 0xcc}; /* syscall; int3 */
	struct regs saved;
	int err;

	if (!syscall_ip)
		syscall_ip = find_syscall_ip(tid);
	if (!syscall_ip) {
		log_error("task %d: no system call instruction to inject through", tid);
		return -ENOENT;
	}
	err = tracee_get_regs(tid, &saved);
	if (err)
		return err;
	err = inject_mmap(tid, &saved, syscall_ip, AGENT_BASE, PAGE_BYTES,
			  PROT_READ | PROT_EXEC);
	if (!err)
		err = inject_mmap(tid, &saved, syscall_ip, AGENT_DATA, AGENT_DATA_SIZE,
				  PROT_READ | PROT_WRITE);
	if (!err)
		err = tracee_write(tid, AGENT_SYSCALL, code, sizeof(code));
	if (err)
		log_error("task %d: cannot map the agent: %s", tid, strerror(-err));
	if (tracee_set_regs(tid, &saved) && !err)
		err = -ESRCH;
	return err;
}

/*
 * While a call is injected no signal of the program's may come in between: it
 * would be taken for the end of the call, or be lost.
 */
static int block_signals(pid_t tid, u64 *was)
{
	/* Not those that an instruction raises: a forked copy keeps this mask. */
	u64 all = ~(1UL << (SIGTRAP - 1) | 1UL << (SIGSEGV - 1) | 1UL << (SIGBUS - 1) |
		    1UL << (SIGILL - 1) | 1UL << (SIGFPE - 1) | 1UL << (SIGSYS - 1));

	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof(*was), was) ||
	    ptrace(PTRACE_SETSIGMASK, tid, sizeof(all), &all))
		return -errno;
	return 0;
}

static int unblock_signals(pid_t tid, u64 was)
{
	return ptrace(PTRACE_SETSIGMASK, tid, sizeof(was), &was) ? -errno : 0;
}

int tracee_syscall(pid_t tid, s64 *ret, long nr, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4,
		   u64 a5)
{
	struct regs saved, r;
	u64 mask;
	int err;

	err = tracee_get_regs(tid, &saved);
	if (!err)
		err = block_signals(tid, &mask);
	if (err)
		return err;
	r = saved;
	r.r[X86_RIP] = AGENT_SYSCALL;
	r.r[X86_RAX] = nr;
	r.r[X86_RDI] = a0;
	r.r[X86_RSI] = a1;
	r.r[X86_RDX] = a2;
	r.r[X86_R10] = a3;
	r.r[X86_R8] = a4;
	r.r[X86_R9] = a5;
	/* Without this the kernel would restart the interrupted call (rip -= 2)
	 * when it sees an -ERESTART* result in rax at a syscall-exit stop. */
	r.r[X86_ORIG_RAX] = -1;
	err = run_injected(tid, &r, PTRACE_CONT);
	if (err)
		return err;
	*ret = r.r[X86_RAX];
	err = tracee_set_regs(tid, &saved);
	return err ? err : unblock_signals(tid, mask);
}

int tracee_resume(pid_t tid, int how, int sig)
{
	return ptrace(how, tid, 0, (void *)(long)sig) ? -errno : 0;
}

void tracee_stop_decode(struct tracee_stop *s, pid_t tid, int status)
{
	int sig;

	*s = (struct tracee_stop){.tid = tid, .status = status};
	if (WIFEXITED(status)) {
		s->kind = TRACEE_EXITED;
		s->code = WEXITSTATUS(status);
		return;
	}
	if (WIFSIGNALED(status)) {
		s->kind = TRACEE_KILLED;
		s->sig = WTERMSIG(status);
		return;
	}
	sig = WSTOPSIG(status);
	s->sig = sig & 0x7f;
	s->event = status >> 16;
	if (s->event == PTRACE_EVENT_STOP)
		s->kind = s->sig == SIGTRAP ? TRACEE_EVENT : TRACEE_GROUP;
	else if (s->event)
		s->kind = TRACEE_EVENT;
	else if (sig == (SIGTRAP | 0x80))
		s->kind = TRACEE_SYSCALL;
	else
		s->kind = TRACEE_SIGNAL;
}

int tracee_wait(pid_t tid, int flags, struct tracee_stop *s)
{
	int status;
	pid_t got = waitpid(tid, &status, __WALL | flags);

	if (got < 0)
		return -errno;
	if (!got)
		return -EAGAIN;
	tracee_stop_decode(s, got, status);
	return 0;
}
