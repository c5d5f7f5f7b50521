/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "trace/trace.h"

struct text {
	char *out;
	size_t n, at;
};

static void add(struct text *t, const char *fmt, ...) __printf_like(2, 3);

static void add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int got;

	if (t->at + 1 >= t->n)
		return;
	va_start(ap, fmt);
	got = vsnprintf(t->out + t->at, t->n - t->at, fmt, ap);
	va_end(ap);
	if (got > 0)
		t->at = MIN(t->at + got, t->n - 1);
}

static void text_effect(struct text *t, const struct effect *e)
{
	switch (e->kind) {
	case EF_MEM:
		add(t, " mem %#" PRIx64 "+%" PRIu64, e->addr, e->len);
		break;
	case EF_MAP:
		add(t, " map %#" PRIx64 "+%#" PRIx64 " %c%c%c%c %s", e->addr, e->len,
		    e->map.prot & PROT_READ ? 'r' : '-',
		    e->map.prot & PROT_WRITE ? 'w' : '-',
		    e->map.prot & PROT_EXEC ? 'x' : '-',
		    e->map.flags & MAP_SHARED ? 's' : 'p', e->map.name);
		break;
	case EF_UNMAP:
		add(t, " unmap %#" PRIx64 "+%#" PRIx64, e->addr, e->len);
		break;
	case EF_PROTECT:
		add(t, " protect %#" PRIx64 "+%#" PRIx64 " %#x", e->addr, e->len,
		    e->protect.prot);
		break;
	case EF_REMAP:
		add(t, " remap %#" PRIx64 "+%#" PRIx64 " -> %#" PRIx64 "+%#" PRIx64,
		    e->remap.from, e->remap.from_len, e->addr, e->len);
		break;
	case EF_DISCARD:
		add(t, " discard %#" PRIx64 "+%#" PRIx64, e->addr, e->len);
		break;
	case EF_FORK:
		add(t, " %s %u", e->fork.share ? "thread" : "fork", e->fork.tid);
		break;
	case EF_OUTPUT:
		add(t, " output fd %u, %" PRIu64 " bytes", e->output.fd, e->len);
		break;
	}
}

static void text_call(struct text *t, const struct event *ev)
{
	const u64 *r = ev->regs.r;

	add(t, "%s", ev->what[0] ? ev->what : "?");
	if (ev->type != EV_LEAVE)
		add(t, "(%#" PRIx64 ", %#" PRIx64 ", %#" PRIx64 ", %#" PRIx64 ")",
		    r[X86_RDI], r[X86_RSI], r[X86_RDX], r[X86_R10]);
	if (ev->type != EV_ENTER && ev->has_after)
		add(t, " = %" PRId64, (s64)ev->regs_after.r[X86_RAX]);
}

static void text_type(struct text *t, const struct event *ev)
{
	static const char *const where[] = {[0] = "",
					    [WHERE_HERE] = "here",
					    [WHERE_FAULT] = "fault",
					    [WHERE_POINT] = "point"};

	switch (ev->type) {
	case EV_SYSCALL:
	case EV_ENTER:
	case EV_LEAVE:
		text_call(t, ev);
		break;
	case EV_TRAP:
		add(t, "%s at %#" PRIx64, ev->what, ev->regs.r[X86_RIP]);
		break;
	case EV_SIGNAL:
		add(t, "%d (%s) at %#" PRIx64, ev->siginfo ? ev->siginfo->si_signo : 0,
		    where[ev->where], ev->regs.r[X86_RIP]);
		if (ev->fatal)
			add(t, " fatal");
		else if (ev->has_after)
			add(t, " handler %#" PRIx64, ev->regs_after.r[X86_RIP]);
		break;
	case EV_SCHED:
		add(t, "at %#" PRIx64 ", %u words, %u pages", ev->point.regs.r[X86_RIP],
		    ev->point.n_words, ev->point.n_pages);
		break;
	case EV_EXIT:
		if (WIFSIGNALED(ev->status))
			add(t, "signal %d", WTERMSIG(ev->status));
		else
			add(t, "status %d", WEXITSTATUS(ev->status));
		break;
	case EV_EXEC:
		add(t, "%s", ev->exe);
		break;
	}
}

void event_text(const struct event *ev, char *out, size_t n)
{
	struct text t = {out, n, 0};

	if (n)
		out[0] = '\0';
	add(&t, "%" PRIu64 " %" PRIu64 ".%06" PRIu64 " %u/%u %s ", ev->number,
	    ev->time_ns / NSEC_PER_SEC, ev->time_ns % NSEC_PER_SEC / 1000, ev->pid, ev->tid,
	    event_type_names[ev->type]);
	text_type(&t, ev);
	for (u32 i = 0; i < ev->n_effects; i++)
		text_effect(&t, &ev->effects[i]);
}
