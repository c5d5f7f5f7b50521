/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sampler.h - take samples of recorded threads without stopping them.
 *
 * The recorder opens a thread here when it comes to be, closes it when it
 * ends, and drains at every event before it appends that event: so whatever a
 * user-code sample that is drained holds lies after the last event appended.
 */
#ifndef PLAYHEAD_SAMPLER_H
#define PLAYHEAD_SAMPLER_H

#include "trace/format.h"

struct sampler;

struct sampler_opts {
	u32 hz;
	enum sampler_kind at_best; /* SAMPLER_BPF; lower ones for tests */
	int cpu;		   /* the CPU that tracees are pinned to */
};

/*
 * Called for each sample drained. The sampler fills time (CLOCK_MONOTONIC,
 * not yet relative), tid, kind (USER, or SYSCALL if the thread was in a system
 * call: then regs are those of its entry), point.regs (fs_base and gs_base are
 * 0: the recorder knows them), point.print, kernel frames.
 */
typedef void (*sampler_fn)(void *ctx, struct sample *s);

/* Can this kind be had here? 0, or -errno and @why says what is missing. */
int sampler_probe(enum sampler_kind kind, char *why, size_t n) __must_check;

/* Falls back in the order of enum sampler_kind; never fails for lack of
 * rights: sampler_kind() and sampler_why() tell. */
int sampler_new(struct sampler **out, const struct sampler_opts *o) __must_check;
void sampler_free(struct sampler *s);
enum sampler_kind sampler_kind(const struct sampler *s);
const char *sampler_why(const struct sampler *s);

int sampler_thread_add(struct sampler *s, pid_t tid) __must_check;
void sampler_thread_del(struct sampler *s, pid_t tid);
int sampler_drain(struct sampler *s, sampler_fn fn, void *ctx) __must_check;
u64 sampler_lost(struct sampler *s);
/* How often sampler_drain() is to be called, whether there are events or not,
 * so that the ring cannot fill up. 0: there is none. */
u64 sampler_drain_ns(const struct sampler *s);
/*
 * SAMPLER_TIMER only: true if the timer of @tid has asked for a sample; the
 * recorder then stops the thread and calls sampler_take() with it stopped.
 */
bool sampler_due(struct sampler *s, pid_t *tid);
int sampler_take(struct sampler *s, pid_t tid, sampler_fn fn, void *ctx) __must_check;
/* Name of a kernel text address from /proc/kallsyms, or NULL. */
const char *sampler_ksym(struct sampler *s, u64 addr);

#endif
