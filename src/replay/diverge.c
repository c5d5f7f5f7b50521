/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * diverge.c - say where replay and recording stopped to agree, once.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "replay/replay.h"

static void log_regs(const char *whose, const struct regs *r)
{
	log_error("  %s: rip %#" PRIx64 " rsp %#" PRIx64 " rax %#" PRIx64 " rbx %#" PRIx64
		  " rcx %#" PRIx64 " rdx %#" PRIx64 " rsi %#" PRIx64 " rdi %#" PRIx64
		  " rbp %#" PRIx64,
		  whose, r->r[X86_RIP], r->r[X86_RSP], r->r[X86_RAX], r->r[X86_RBX],
		  r->r[X86_RCX], r->r[X86_RDX], r->r[X86_RSI], r->r[X86_RDI],
		  r->r[X86_RBP]);
}

int diverge(struct timeline *t, const struct event *ev, const struct regs *actual,
	    const char *what, const char *fmt, ...)
{
	struct divergence *d = &t->div;
	const char *type;
	va_list ap;

	if (t->diverged)
		return -EILSEQ;
	t->diverged = true;
	*d = (struct divergence){.event = ev->number, .tid = ev->tid, .expected = ev->regs};
	if (ev->type == EV_SCHED || (ev->type == EV_SIGNAL && ev->where == WHERE_POINT))
		d->expected = ev->point.regs;
	if (actual)
		d->actual = *actual;
	type = ev->type < NR_EVENT_TYPES ? event_type_names[ev->type] : "?";
	snprintf(d->what, sizeof(d->what), "%s (%s%s%s)", what, type,
		 ev->what && ev->what[0] ? " " : "", ev->what ? ev->what : "");
	va_start(ap, fmt);
	vsnprintf(d->detail, sizeof(d->detail), fmt, ap);
	va_end(ap);
	log_error("replay diverges at event %" PRIu64 ", thread %u: %s: %s", d->event,
		  d->tid, d->what, d->detail);
	if (actual) {
		log_regs("expected", &d->expected);
		log_regs("actual", &d->actual);
	}
	return -EILSEQ;
}

const struct divergence *timeline_divergence(const struct timeline *t)
{
	return t->diverged ? &t->div : NULL;
}
