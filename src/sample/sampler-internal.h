/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sampler-internal.h - what each of the three samplers is to sampler.c: a row
 * of operations, on a state of its own.
 */
#ifndef PLAYHEAD_SAMPLER_INTERNAL_H
#define PLAYHEAD_SAMPLER_INTERNAL_H

#include "sample/sampler.h"

struct sampler_ops {
	enum sampler_kind kind;
	/* On failure @why says, in a few words, what was refused. */
	int (*open)(void **state, const struct sampler_opts *o, char *why, size_t n);
	void (*close)(void *state);
	int (*thread_add)(void *state, pid_t tid);
	void (*thread_del)(void *state, pid_t tid);
	int (*drain)(void *state, sampler_fn fn, void *ctx);
	u64 (*lost)(void *state);
	/* How many samples there is room for, at least. */
	u64 (*room)(void *state);
	bool (*due)(void *state, pid_t *tid);
	int (*take)(void *state, pid_t tid, sampler_fn fn, void *ctx);
};

/* sampler_bpf_ops exists only in a build with BPF. */
extern const struct sampler_ops sampler_bpf_ops, sampler_perf_ops, sampler_timer_ops;

/* One perf event for each thread that is sampled. */
struct thread_fds {
	struct {
		pid_t tid;
		int fd;
	} * v;
	size_t n, cap;
};

/* Takes over @fd, on failure too. */
int thread_fds_add(struct thread_fds *t, pid_t tid, int fd) __must_check;
void thread_fds_del(struct thread_fds *t, pid_t tid);
void thread_fds_fini(struct thread_fds *t);

/* A file descriptor or -errno. */
struct perf_event_attr;
int perf_open(struct perf_event_attr *attr, pid_t tid, int cpu) __must_check;

/* What to tell of a refused perf_event_open(), with the knob that refuses. */
void perf_refused(int err, char *why, size_t n);

struct ksyms;

/* The text symbol that holds @addr, or NULL. Reads /proc/kallsyms once. */
const char *ksyms_name(struct ksyms **k, u64 addr);
void ksyms_free(struct ksyms *k);
/*
 * Where the code lies through which all 64-bit system calls enter the kernel:
 * [*start, *end), 0 and 0 if the kernel hides its addresses.
 */
void ksyms_syscall_entry(u64 *start, u64 *end);

#endif
