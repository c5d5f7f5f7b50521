/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * samples.c - number samples by event. One taken in program code lies after
 * the last event written; one taken inside a system call belongs to that
 * call's event, which may not have its number yet: it is held until then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "record/internal.h"

/* PLAYHEAD_SAMPLER=perf or timer: as on a machine that has no better. */
static enum sampler_kind at_best(void)
{
	const char *e = getenv("PLAYHEAD_SAMPLER");

	if (e && !strcmp(e, "perf"))
		return SAMPLER_PERF;
	if (e && !strcmp(e, "timer"))
		return SAMPLER_TIMER;
	return SAMPLER_BPF;
}

int samples_open(struct session *s)
{
	struct sampler_opts o = {
		.hz = s->opts->hz,
		.at_best = at_best(),
		.cpu = s->cpu,
	};
	int err;

	if (!s->opts->hz)
		return 0;
	err = sampler_new(&s->sampler, &o);
	if (err) {
		log_error("cannot sample: %s", strerror(-err));
		return err;
	}
	s->drain_ns = sampler_drain_ns(s->sampler);
	s->poll_timer = sampler_kind(s->sampler) == SAMPLER_TIMER;
	return 0;
}

/*
 * Reading the kernel's symbols takes longer than a thousand events: the
 * program is not to wait for it.
 */
static void name_kernel(struct session *s)
{
	for (size_t i = 0; i < s->n_kernel; i++) {
		const char *name = sampler_ksym(s->sampler, s->kernel[i]);

		if (name && trace_writer_ksym(s->w, s->kernel[i], name))
			break;
	}
}

void samples_close(struct session *s)
{
	if (!s->sampler)
		return;
	name_kernel(s);
	s->lost_samples = sampler_lost(s->sampler);
	sampler_free(s->sampler);
	s->sampler = NULL;
}

void samples_add_task(struct session *s, struct task *t)
{
	int err;

	if (!s->sampler || t->sampled)
		return;
	err = sampler_thread_add(s->sampler, t->tid);
	if (err)
		log_debug("task %d is not sampled: %s", t->tid, strerror(-err));
	else
		t->sampled = true;
}

void samples_del_task(struct session *s, struct task *t)
{
	if (s->sampler && t->sampled)
		sampler_thread_del(s->sampler, t->tid);
	t->sampled = false;
}

static void note_kernel(struct session *s, u64 addr)
{
	size_t lo = 0, hi = s->n_kernel;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->kernel[mid] == addr)
			return;
		if (s->kernel[mid] < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* A name less is no reason to end the recording. */
	if (array_reserve(&s->kernel, &s->kernel_cap, s->n_kernel + 1, sizeof(*s->kernel)))
		return;
	memmove(s->kernel + lo + 1, s->kernel + lo,
		(s->n_kernel - lo) * sizeof(*s->kernel));
	s->kernel[lo] = addr;
	s->n_kernel++;
}

static void write_sample(struct session *s, struct sample *p)
{
	int err;

	for (u32 i = 0; i < p->n_kernel; i++)
		note_kernel(s, p->kernel[i]);
	err = trace_writer_sample(s->w, p);
	if (err)
		session_end(s,
			    err == -ENOSPC ? "the disk is full" : "cannot write samples");
}

static void hold(struct session *s, const struct sample *p)
{
	if (array_reserve(&s->held, &s->held_cap, s->n_held + 1, sizeof(*p)))
		return;
	s->held[s->n_held++] = *p;
}

static bool in_agent(u64 ip)
{
	return ip >= AGENT_BASE && ip < AGENT_BASE + AGENT_SIZE;
}

/*
 * Taken on the way out of the call before, and drained when the thread stands
 * at its next one already: older than that, and from another place.
 */
static bool of_call_before(const struct session *s, const struct task *t,
			   const struct sample *p)
{
	return t->last_call_event && p->time_ns + s->start_ns < t->call.began_ns &&
	       p->point.regs.r[X86_RIP] != t->call.regs.r[X86_RIP];
}

static void on_sample(void *ctx, struct sample *p)
{
	struct session *s = ctx;
	struct task *t = task_find(s, p->tid);

	/* Injected calls are not the program's; nor are those that a new image is
	 * set up with, which run in its vDSO before there is an agent. */
	if (!t || !s->execed || t->execing || in_agent(p->point.regs.r[X86_RIP]))
		return;
	p->pid = t->pid;
	p->time_ns -= MIN(p->time_ns, s->start_ns);
	p->point.tid = t->tid;
	p->point.regs.r[X86_FS_BASE] = t->regs.r[X86_FS_BASE];
	p->point.regs.r[X86_GS_BASE] = t->regs.r[X86_GS_BASE];
	if (!p->weight)
		p->weight = 1;
	/* At the instruction again, since the kernel restarts the call: other
	 * threads run by now. */
	if (p->kind == SAMPLE_USER && t->call.active && t->call.split &&
	    p->point.regs.r[X86_RIP] == t->call.regs.r[X86_RIP] - 2) {
		p->kind = SAMPLE_SYSCALL;
		p->point.regs = t->call.regs;
	}
	if (p->kind == SAMPLE_USER && t->handler &&
	    regs_equal(&p->point.regs, t->handler)) {
		/* In the kernel, which has just made the frame: this lies after
		 * the event that is about to be written. */
		t->call.has_pending = true;
		hold(s, p);
	} else if (p->kind == SAMPLE_USER) {
		p->point.event = trace_writer_last(s->w);
		write_sample(s, p);
	} else if (t->call.active && of_call_before(s, t, p)) {
		p->point.event = t->last_call_event;
		write_sample(s, p);
	} else if (t->call.active && t->call.split) {
		p->point.event = t->call.event;
		write_sample(s, p);
	} else if (t->call.active) {
		t->call.has_pending = true;
		hold(s, p);
	} else {
		/* On the way out of the call whose event is written already. */
		p->point.event = t->last_call_event;
		if (p->point.event)
			write_sample(s, p);
	}
}

void samples_drain(struct session *s)
{
	if (s->sampler && sampler_drain(s->sampler, on_sample, s))
		session_end(s, "the sampler failed");
}

void samples_flush(struct session *s, struct task *t, u64 event)
{
	size_t kept = 0;

	if (!t->call.has_pending)
		return;
	t->call.has_pending = false;
	for (size_t i = 0; i < s->n_held; i++) {
		if (s->held[i].tid != (u32)t->tid) {
			s->held[kept++] = s->held[i];
			continue;
		}
		s->held[i].point.event = event;
		write_sample(s, &s->held[i]);
	}
	s->n_held = kept;
}

void samples_flush_call(struct session *s, struct task *t, u64 event)
{
	t->last_call_event = event;
	samples_flush(s, t, event);
}

/* -e wall: what the thread slept in a call, in ticks of the sampling rate. */
void samples_blocked(struct session *s, struct task *t)
{
	u64 ns = now_ns() - t->call.began_ns;
	struct sample p = {
		.kind = SAMPLE_BLOCKED,
		.tid = t->tid,
		.pid = t->pid,
		.time_ns = now_ns() - s->start_ns,
		.point = {.tid = t->tid, .regs = t->call.regs},
	};

	if (!s->sampler || !s->opts->wall)
		return;
	p.weight = ns * s->opts->hz / NSEC_PER_SEC;
	p.point.event = t->last_call_event;
	if (p.weight)
		write_sample(s, &p);
}

bool samples_due(struct session *s, struct task *t)
{
	pid_t tid;

	if (!s->poll_timer)
		return false;
	while (sampler_due(s->sampler, &tid))
		if (tid == t->tid)
			t->sample_due = true;
	return t->sample_due;
}

void samples_take(struct session *s, struct task *t)
{
	t->sample_due = false;
	if (sampler_take(s->sampler, t->tid, on_sample, s))
		log_debug("task %d: no sample", t->tid);
}
