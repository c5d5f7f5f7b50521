/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sampler.c - choose the best sampler that the machine and our rights allow.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "sample/sampler-internal.h"

struct sampler {
	const struct sampler_ops *ops;
	u32 hz;
	void *state;
	char why[256];
	struct ksyms *ksyms;
};

/* Best first. */
static const struct sampler_ops *const all_ops[] = {
#ifdef HAVE_BPF
	&sampler_bpf_ops,
#endif
	&sampler_perf_ops,
	&sampler_timer_ops,
};

static const struct sampler_ops *ops_of(enum sampler_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(all_ops); i++)
		if (all_ops[i]->kind == kind)
			return all_ops[i];
	return NULL;
}

/* Append "; @what" to @why. */
static void why_add(char *why, size_t n, const char *what)
{
	size_t at = strlen(why);

	snprintf(why + at, n - at, "%s%s", at ? "; " : "", what);
}

int sampler_new(struct sampler **out, const struct sampler_opts *o)
{
	struct sampler *s;
	int err = -ENODEV;

	if (!o->hz)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	if (o->at_best <= SAMPLER_BPF && !ops_of(SAMPLER_BPF))
		why_add(s->why, sizeof(s->why), "built without BPF");
	for (size_t i = 0; i < ARRAY_SIZE(all_ops) && err; i++) {
		char why[128] = "";

		if (all_ops[i]->kind < o->at_best)
			continue;
		err = all_ops[i]->open(&s->state, o, why, sizeof(why));
		if (err)
			why_add(s->why, sizeof(s->why), why);
		else
			s->ops = all_ops[i];
	}
	if (err) {
		free(s);
		return err;
	}
	s->hz = o->hz;
	*out = s;
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	s->ops->close(s->state);
	ksyms_free(s->ksyms);
	free(s);
}

int sampler_probe(enum sampler_kind kind, char *why, size_t n)
{
	const struct sampler_ops *ops = ops_of(kind);
	struct sampler_opts o = {.hz = 1, .at_best = kind};
	void *state;
	int err;

	if (n)
		why[0] = '\0';
	if (!ops) {
		snprintf(why, n, "built without BPF");
		return -ENOSYS;
	}
	err = ops->open(&state, &o, why, n);
	if (!err)
		ops->close(state);
	return err;
}

enum sampler_kind sampler_kind(const struct sampler *s)
{
	return s->ops->kind;
}

const char *sampler_why(const struct sampler *s)
{
	return s->why;
}

int sampler_thread_add(struct sampler *s, pid_t tid)
{
	return s->ops->thread_add(s->state, tid);
}

void sampler_thread_del(struct sampler *s, pid_t tid)
{
	s->ops->thread_del(s->state, tid);
}

int sampler_drain(struct sampler *s, sampler_fn fn, void *ctx)
{
	return s->ops->drain ? s->ops->drain(s->state, fn, ctx) : 0;
}

u64 sampler_lost(struct sampler *s)
{
	return s->ops->lost ? s->ops->lost(s->state) : 0;
}

/* A recorder that is killed should not take much with it. */
#define DRAIN_MOST_NS (NSEC_PER_SEC / 4)

u64 sampler_drain_ns(const struct sampler *s)
{
	u64 half;

	if (!s->ops->room)
		return 0;
	half = s->ops->room(s->state) * NSEC_PER_SEC / s->hz / 2;
	return MIN(half, DRAIN_MOST_NS);
}

bool sampler_due(struct sampler *s, pid_t *tid)
{
	return s->ops->due && s->ops->due(s->state, tid);
}

int sampler_take(struct sampler *s, pid_t tid, sampler_fn fn, void *ctx)
{
	return s->ops->take ? s->ops->take(s->state, tid, fn, ctx) : 0;
}

const char *sampler_ksym(struct sampler *s, u64 addr)
{
	return ksyms_name(&s->ksyms, addr);
}
