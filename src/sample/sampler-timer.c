/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sampler-timer.c - the last resort: look at the CPU clocks of the threads,
 * and have the recorder stop a thread that has used up its period.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "sample/sampler-internal.h"
#include "tracee/tracee.h"

struct timer_thread {
	pid_t tid, pid;
	u64 due_ns; /* of its process's CPU clock */
};

struct timer_sampler {
	struct timer_thread *v;
	size_t n, cap;
	u64 period_ns;
	u64 look_ns; /* not before, on the monotonic clock */
};

/*
 * The scheduler's clock of a process: clockid_t is ~pid << 3, with 2 for
 * "sched clock" (linux/posix-timers.h). That of a thread can only be read from
 * inside its own process. As one thread runs at a time, the process's does.
 */
static int process_cpu_ns(pid_t pid, u64 *ns)
{
	clockid_t clock = ~(clockid_t)pid << 3 | 2;
	struct timespec ts;

	*ns = 0;
	if (clock_gettime(clock, &ts))
		return errno == EINVAL ? -ESRCH : -errno;
	*ns = ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
	return 0;
}

/* A field of /proc/TID/status, or 0. */
static long status_field(pid_t tid, const char *name, char *state)
{
	char path[40], line[128];
	long v = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (!v && fgets(line, sizeof(line), f)) {
		sscanf(line, "State: %c", state);
		if (!strncmp(line, name, strlen(name)))
			v = strtol(line + strlen(name), NULL, 10);
	}
	fclose(f);
	return v;
}

static int timer_open(void **state, const struct sampler_opts *o, char *why, size_t n)
{
	struct timer_sampler *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->period_ns = NSEC_PER_SEC / o->hz;
	*state = t;
	return 0;
}

static void timer_close(void *state)
{
	struct timer_sampler *t = state;

	free(t->v);
	free(t);
}

static int timer_thread_add(void *state, pid_t tid)
{
	struct timer_sampler *t = state;
	char run;
	pid_t pid = status_field(tid, "Tgid:", &run);
	u64 now;
	int err = pid ? process_cpu_ns(pid, &now) : -ESRCH;

	if (!err)
		err = array_reserve(&t->v, &t->cap, t->n + 1, sizeof(*t->v));
	if (err)
		return err;
	t->v[t->n++] = (struct timer_thread){tid, pid, now + t->period_ns};
	return 0;
}

static void timer_thread_del(void *state, pid_t tid)
{
	struct timer_sampler *t = state;

	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i].tid != tid)
			continue;
		t->v[i] = t->v[--t->n];
		return;
	}
}

/* The thread of @pid that runs; one that is stopped or asleep is not due. */
static bool running_thread(const struct timer_sampler *t, pid_t pid, pid_t *tid)
{
	for (size_t i = 0; i < t->n; i++) {
		char run = '?';

		if (t->v[i].pid != pid || !status_field(t->v[i].tid, "Tgid:", &run))
			continue;
		*tid = t->v[i].tid;
		if (run == 'R')
			return true;
	}
	return false;
}

static bool timer_due(void *state, pid_t *tid)
{
	struct timer_sampler *t = state;
	u64 now = now_ns(), used;

	if (now < t->look_ns)
		return false;
	/* A quarter of a period keeps the phase. */
	t->look_ns = now + t->period_ns / 4;
	for (size_t i = 0; i < t->n; i++) {
		if (process_cpu_ns(t->v[i].pid, &used) || used < t->v[i].due_ns)
			continue;
		if (running_thread(t, t->v[i].pid, tid))
			return true;
	}
	return false;
}

static int task_read(void *ctx, u64 addr, void *buf, size_t n)
{
	pid_t tid = *(pid_t *)ctx;

	return tracee_read_some(tid, addr, buf, n) == n ? 0 : -EFAULT;
}

/* The clock is the process's: a sample of one thread serves them all. */
static int period_begin(struct timer_sampler *t, pid_t tid)
{
	pid_t pid = 0;
	u64 used;
	int err;

	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].tid == tid)
			pid = t->v[i].pid;
	err = pid ? process_cpu_ns(pid, &used) : -ESRCH;
	if (err)
		return err;
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].pid == pid)
			t->v[i].due_ns = used + t->period_ns;
	return 0;
}

static int timer_take(void *state, pid_t tid, sampler_fn fn, void *ctx)
{
	struct timer_sampler *t = state;
	struct sample s = {.tid = tid, .kind = SAMPLE_USER, .weight = 1};
	struct regs *r = &s.point.regs;
	int err = period_begin(t, tid);

	if (!err)
		err = tracee_get_regs(tid, r);
	if (err)
		return err;
	if (r->r[X86_RIP] - AGENT_BASE < AGENT_SIZE)
		return 0;
	s.time_ns = now_ns();
	s.point.tid = tid;
	r->r[X86_EFLAGS] &= EFLAGS_USER;
	r->r[X86_FS_BASE] = r->r[X86_GS_BASE] = 0;
	if ((s64)r->r[X86_ORIG_RAX] >= 0)
		s.kind = SAMPLE_SYSCALL;
	else
		err = print_compute(&s.point.print, r, NULL, task_read, &tid);
	if (!err)
		fn(ctx, &s);
	return err;
}

const struct sampler_ops sampler_timer_ops = {
	.kind = SAMPLER_TIMER,
	.open = timer_open,
	.close = timer_close,
	.thread_add = timer_thread_add,
	.thread_del = timer_thread_del,
	.due = timer_due,
	.take = timer_take,
};
