/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hooks.c - calls that change the recorder's own picture, or that must not do
 * what they say: the program is not to see that it is recorded.
 */
#include <errno.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "record/internal.h"

#define ARCH_REQ_XCOMP_PERM	  0x1023
#define ARCH_REQ_XCOMP_GUEST_PERM 0x1025
#define ARCH_GET_CPUID_		  0x1011
#define ARCH_SET_CPUID_		  0x1012
#define ARCH_SHSTK_FIRST	  0x5001
#define ARCH_SHSTK_LAST		  0x5005

/* 1 or 2 if descriptor @fd of @t is our own standard output or error. */
int own_output(struct session *s, struct task *t, int fd)
{
	pid_t me = getpid();

	(void)s;
	if (!t || fd < 0)
		return 0;
	/* Both may be one open file: then its own number decides. */
	for (int i = 0; i < 2; i++) {
		int own = (fd == STDERR_FILENO) ^ i ? STDERR_FILENO : STDOUT_FILENO;

		if (!syscall(SYS_kcmp, t->tid, me, KCMP_FILE, fd, own))
			return own;
	}
	return 0;
}

static void pretend(struct task *t, s64 ret)
{
	t->call.skipped = true;
	t->call.forced = ret;
}

static void clone_enter(struct session *s, struct task *t, struct regs *r)
{
	(void)s;
	if (t->call.view.nr != SYS_clone || !(r->r[X86_RDI] & CLONE_UNTRACED))
		return;
	r->r[X86_RDI] &= ~(u64)CLONE_UNTRACED;
	t->call.args_changed = true;
}

static void set_tid_address_leave(struct session *s, struct task *t, s64 ret)
{
	(void)s;
	(void)ret;
	t->clear_tid = t->call.view.arg[0];
}

static void set_robust_list_leave(struct session *s, struct task *t, s64 ret)
{
	(void)s;
	if (!ret)
		t->robust = t->call.view.arg[0];
}

static void prctl_enter(struct session *s, struct task *t, struct regs *r)
{
	u32 one = PR_TSC_ENABLE;

	(void)s;
	switch ((int)r->r[X86_RDI]) {
	case PR_SET_TSC:
	case PR_SET_SECCOMP:
		pretend(t, 0);
		break;
	case PR_GET_SECCOMP:
		pretend(t, 0);
		break;
	case PR_GET_TSC:
		pretend(t, tracee_write(t->tid, r->r[X86_RSI], &one, 4));
		break;
	case PR_SET_MM:
		pretend(t, -EPERM);
		break;
	case 59: /* PR_SET_SYSCALL_USER_DISPATCH: our filter would not see them */
	case 62: /* PR_SCHED_CORE */
		pretend(t, -EINVAL);
		break;
	}
}

static void arch_prctl_enter(struct session *s, struct task *t, struct regs *r)
{
	u64 code = r->r[X86_RDI];

	(void)s;
	if (code == ARCH_GET_CPUID_)
		pretend(t, 1);
	else if (code == ARCH_SET_CPUID_)
		pretend(t, 0);
	else if (code == ARCH_REQ_XCOMP_PERM || code == ARCH_REQ_XCOMP_GUEST_PERM ||
		 (code >= ARCH_SHSTK_FIRST && code <= ARCH_SHSTK_LAST))
		pretend(t, -EINVAL);
}

/* A filter of the program's own would decide before ours and hide calls. */
static void seccomp_enter(struct session *s, struct task *t, struct regs *r)
{
	(void)s;
	if (r->r[X86_RDI] <= 1)
		pretend(t, 0);
	else
		pretend(t, -EINVAL);
}

/* Affinity is pretended: everything stays on one CPU, but the program sees the
 * mask from before, or the one it set. */
static struct task *affinity_of(struct session *s, struct task *t, u64 pid)
{
	return pid ? task_find(s, pid) : t;
}

static void setaffinity_enter(struct session *s, struct task *t, struct regs *r)
{
	struct task *of = affinity_of(s, t, r->r[X86_RDI]);
	cpu_set_t set;

	CPU_ZERO(&set);
	if (tracee_read_some(t->tid, r->r[X86_RDX], &set,
			     MIN(r->r[X86_RSI], (u64)sizeof(set))) == 0)
		pretend(t, -EFAULT);
	else
		pretend(t, 0);
	CPU_AND(&set, &set, &s->cpus);
	if (!t->call.forced && !CPU_COUNT(&set))
		pretend(t, -EINVAL);
	else if (!t->call.forced && of)
		of->cpus = set;
}

static void setscheduler_enter(struct session *s, struct task *t, struct regs *r)
{
	(void)s;
	(void)r;
	/* A real-time task would take the CPU that we share with it. */
	pretend(t, 0);
}

static void getaffinity_enter(struct session *s, struct task *t, struct regs *r)
{
	struct task *of = affinity_of(s, t, r->r[X86_RDI]);
	u64 len = MIN(r->r[X86_RSI], (u64)sizeof(s->cpus));

	/* What the kernel answers depends on how many CPUs it was built for:
	 * 8 bytes a word, at most 1024 CPUs here. */
	len = MIN(len, 128UL) & ~7UL;
	if (!len || (r->r[X86_RSI] & 7))
		pretend(t, -EINVAL);
	else if (tracee_write(t->tid, r->r[X86_RDX], of ? &of->cpus : &s->cpus, len))
		pretend(t, -EFAULT);
	else
		pretend(t, len);
}

static void yield_enter(struct session *s, struct task *t, struct regs *r)
{
	(void)s;
	(void)r;
	t->yielded = true;
	/* Nobody but the scheduler here decides who runs. */
	pretend(t, 0);
}

/* Into memory that the program can write; never forced. */
static bool give(struct task *t, u64 addr, const void *data, size_t n)
{
	struct iovec l = {(void *)data, n}, r = {(void *)addr, n};

	return process_vm_writev(t->tid, &l, 1, &r, 1, 0) == (ssize_t)n;
}

/*
 * Clocks that are the same for everybody are read here: that saves the stop at
 * the call's exit. Without the vDSO programs make this call often.
 */
static void clock_gettime_enter(struct session *s, struct task *t, struct regs *r)
{
	clockid_t id = (clockid_t)r->r[X86_RDI];
	struct timespec ts;

	(void)s;
	if (id < 0 || id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID)
		return;
	if (!clock_gettime(id, &ts) && give(t, r->r[X86_RSI], &ts, sizeof(ts)))
		pretend(t, 0);
}

static void gettimeofday_enter(struct session *s, struct task *t, struct regs *r)
{
	struct timeval tv;

	(void)s;
	if (!r->r[X86_RSI] && r->r[X86_RDI] && !gettimeofday(&tv, NULL) &&
	    give(t, r->r[X86_RDI], &tv, sizeof(tv)))
		pretend(t, 0);
}

static void personality_leave(struct session *s, struct task *t, s64 ret)
{
	(void)s;
	if (ret >= 0) {
		t->call.after.r[X86_RAX] &= ~0x0040000UL; /* ADDR_NO_RANDOMIZE */
		tracee_ignore(tracee_set_regs(t->tid, &t->call.after));
	}
}

static void personality_enter(struct session *s, struct task *t, struct regs *r)
{
	(void)s;
	if ((u32)r->r[X86_RDI] == 0xffffffff)
		return;
	r->r[X86_RDI] |= 0x0040000;
	t->call.args_changed = true;
}

/* clang-format off */
static const struct { long nr; struct hook hook; } hooks[] = {
	{SYS_mmap, {hook_mmap_enter, hook_mmap_leave}},
	{SYS_munmap, {NULL, hook_munmap_leave}},
	{SYS_mprotect, {NULL, hook_mprotect_leave}},
	{SYS_mremap, {hook_mremap_enter, hook_mremap_leave}},
	{SYS_brk, {NULL, hook_brk_leave}},
	{SYS_madvise, {hook_madvise_enter, hook_madvise_leave}},
	{SYS_shmat, {NULL, hook_shmat_leave}},
	{SYS_shmdt, {hook_shmdt_enter, hook_shmdt_leave}},
	{SYS_rt_sigaction, {NULL, hook_sigaction_leave}},
	{SYS_clone, {clone_enter, process_fork_effects}},
	{SYS_clone3, {NULL, process_fork_effects}},
	{SYS_fork, {NULL, process_fork_effects}},
	{SYS_vfork, {NULL, process_fork_effects}},
	{SYS_set_tid_address, {NULL, set_tid_address_leave}},
	{SYS_set_robust_list, {NULL, set_robust_list_leave}},
	{SYS_prctl, {prctl_enter, NULL}},
	{SYS_arch_prctl, {arch_prctl_enter, NULL}},
	{SYS_seccomp, {seccomp_enter, NULL}},
	{SYS_sched_setaffinity, {setaffinity_enter, NULL}},
	{SYS_sched_getaffinity, {getaffinity_enter, NULL}},
	{SYS_sched_setscheduler, {setscheduler_enter, NULL}},
	{SYS_sched_setparam, {setscheduler_enter, NULL}},
	{SYS_sched_setattr, {setscheduler_enter, NULL}},
	{SYS_sched_yield, {yield_enter, NULL}},
	{SYS_clock_gettime, {clock_gettime_enter, NULL}},
	{SYS_gettimeofday, {gettimeofday_enter, NULL}},
	{SYS_personality, {personality_enter, personality_leave}},
	{SYS_setrlimit, {NULL, hook_rlimit_leave}},
	{SYS_prlimit64, {NULL, hook_rlimit_leave}},
	{SYS_write, {NULL, hook_file_written}},
	{SYS_pwrite64, {NULL, hook_file_written}},
	{SYS_writev, {NULL, hook_file_written}},
	{SYS_pwritev, {NULL, hook_file_written}},
	{SYS_pwritev2, {NULL, hook_file_written}},
	{SYS_ftruncate, {NULL, hook_file_written}},
};
/* clang-format on */

#define NR_MAX 512

const struct hook *hook_find(long nr)
{
	static const struct hook *by_nr[NR_MAX];
	static bool filled;

	if (!filled)
		for (size_t i = 0; i < ARRAY_SIZE(hooks); i++)
			by_nr[hooks[i].nr] = &hooks[i].hook;
	filled = true;
	return nr >= 0 && nr < NR_MAX ? by_nr[nr] : NULL;
}
