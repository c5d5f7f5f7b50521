/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * strong.c - a point that must be exact whatever the program does: with the
 * print go hashes of the pages it wrote lately.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/internal.h"

struct strong {
	pid_t tid;
};

int strong_begin(struct session *s, struct task *t)
{
	s->strong = calloc(1, sizeof(*s->strong));
	if (!s->strong)
		return -ENOMEM;
	s->strong->tid = t->tid;
	s->strong_ns = now_ns();
	return 0;
}

void strong_drop(struct session *s)
{
	free(s->strong);
	s->strong = NULL;
}

static int read_task(void *ctx, u64 addr, void *buf, size_t n)
{
	struct task *t = ctx;

	return tracee_read_some(t->tid, addr, buf, n) == n ? 0 : -EFAULT;
}

int strong_point(struct session *s, struct task *t, struct point *p)
{
	(void)s;
	return print_compute(&p->print, &p->regs, NULL, read_task, t);
}
