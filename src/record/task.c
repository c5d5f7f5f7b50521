/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/internal.h"

struct mm *mm_new(const struct mm *from)
{
	struct mm *m = calloc(1, sizeof(*m));

	if (m && from)
		*m = *from;
	if (m)
		m->refs = 0;
	return m;
}

void mm_put(struct mm *m)
{
	if (!--m->refs)
		free(m);
}

struct task *task_new(struct session *s, pid_t tid, pid_t pid, struct mm *mm)
{
	struct task *t = calloc(1, sizeof(*t)), **at;
	char path[40];

	if (!t)
		return NULL;
	t->tid = tid;
	t->pid = pid;
	t->mm = mm;
	mm->refs++;
	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	t->stat_fd = open(path, O_RDONLY | O_CLOEXEC);
	/* At the end: the order of the list is the round of the scheduler. */
	for (at = &s->tasks; *at; at = &(*at)->next)
		;
	*at = t;
	s->n_tasks++;
	return t;
}

void task_free(struct session *s, struct task *t)
{
	struct task **at;

	for (at = &s->tasks; *at != t; at = &(*at)->next)
		;
	*at = t->next;
	s->n_tasks--;
	if (s->cur == t)
		s->cur = NULL;
	if (s->last == t)
		s->last = NULL;
	mm_put(t->mm);
	segv_put(t->segv);
	if (t->stat_fd >= 0)
		close(t->stat_fd);
	free(t);
}

struct task *task_find(struct session *s, pid_t tid)
{
	for (struct task *t = s->tasks; t; t = t->next)
		if (t->tid == tid)
			return t;
	return NULL;
}

bool task_siblings(struct session *s, const struct task *t)
{
	for (struct task *o = s->tasks; o; o = o->next)
		if (o != t && o->pid == t->pid)
			return true;
	return false;
}

char task_kernel_state(struct task *t)
{
	char buf[128], *p;
	ssize_t n = pread(t->stat_fd, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return 'X';
	buf[n] = '\0';
	p = strrchr(buf, ')');
	return p && p[1] == ' ' ? p[2] : '?';
}
