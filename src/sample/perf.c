/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * perf.c - what the samplers that stand on perf events share.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "sample/sampler-internal.h"

int perf_open(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	int fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void perf_refused(int err, char *why, size_t n)
{
	char paranoid[16] = "?";
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");

	if (!f || !fgets(paranoid, sizeof(paranoid), f))
		strcpy(paranoid, "?");
	if (f)
		fclose(f);
	paranoid[strcspn(paranoid, "\n")] = '\0';
	if (err == -EACCES || err == -EPERM)
		snprintf(why, n,
			 "perf_event_open is refused (kernel.perf_event_paranoid %s, "
			 "no CAP_PERFMON)",
			 paranoid);
	else
		snprintf(why, n, "perf_event_open: %s", strerror(-err));
}

int thread_fds_add(struct thread_fds *t, pid_t tid, int fd)
{
	int err = array_reserve(&t->v, &t->cap, t->n + 1, sizeof(*t->v));

	if (err) {
		close(fd);
		return err;
	}
	t->v[t->n].tid = tid;
	t->v[t->n++].fd = fd;
	return 0;
}

void thread_fds_del(struct thread_fds *t, pid_t tid)
{
	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i].tid != tid)
			continue;
		close(t->v[i].fd);
		t->v[i] = t->v[--t->n];
		return;
	}
}

void thread_fds_fini(struct thread_fds *t)
{
	for (size_t i = 0; i < t->n; i++)
		close(t->v[i].fd);
	free(t->v);
}
