/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stop.h - run a replayed task until a condition holds, by the fastest way
 * that there is for the place: trampoline, BPF, ptrace. All running in replay
 * goes through here, so that breakpoints, watchpoints and conditional stops
 * that touch the same bytes know of each other.
 *
 * What is armed is written into the task at stops_run() and stays there until
 * stops_clean(), which must come before the task is forked, its memory is read
 * or written over those bytes, or its maps change. stops_read() and
 * stops_write() see through what is armed.
 */
#ifndef PLAYHEAD_STOP_H
#define PLAYHEAD_STOP_H

#include "base/base.h"
#include "arch/x86_64/regs.h"
#include "point/point.h"
#include "tracee/tracee.h"

enum stop_way { STOP_AUTO, STOP_TRAMPOLINE, STOP_BPF, STOP_PTRACE, NR_STOP_WAYS };

extern const char *const stop_way_names[NR_STOP_WAYS];

struct stop_cond {
	u64 ip;
	bool match_regs; /* stop only if regs_equal(regs, thread's) */
	struct regs regs;
	/* Registers that match_regs leaves out, a bit for each enum reg: inside a
	 * rep string instruction its counters are wherever they are. */
	u32 ignore;
	u32 n_words; /* and these words have these values */
	struct point_word words[POINT_MAX_WORDS];
	/*
	 * A help, with match_regs and nothing ignored: do not bother to stop
	 * where the stack or the windows of this print differ, if the task can
	 * find that out by itself. A stop does not mean that they are equal. For
	 * conditions that are not counted.
	 */
	bool has_print;
	struct print print;
	/* And, if not 0, it is exactly this pass over ip with all of the above
	 * holding, counted from 1 since the condition was added. */
	u64 pass;
	/* Do not stop, only count. */
	bool count_only;
};

enum watch_kind { WATCH_EXEC, WATCH_WRITE, WATCH_READWRITE };

enum stop_result_kind {
	STOPPED_COND,  /* conds: bit i set: condition id i holds here */
	STOPPED_WATCH, /* watch: its id; rip is after the access */
	STOPPED_STEP,  /* one instruction done (step was asked) */
	STOPPED_OTHER, /* anything else: stop is what wait said */
	STOPPED_TIME,  /* budget used up, or *interrupt became true */
};

struct stop_result {
	enum stop_result_kind kind;
	u64 conds;
	int watch;
	struct tracee_stop stop;
	struct regs regs; /* of the program: never inside a trampoline */
};

struct stops;

/* For the ptrace-stopped task @tid (own address space). @force: STOP_AUTO, or
 * one way for all conditions that are not plain breakpoints. */
int stops_new(struct stops **out, pid_t tid, enum stop_way force) __must_check;
/* Cleans the task first if it is alive. */
void stops_free(struct stops *s);

#define STOPS_MAX_CONDS 60
/* Up to STOPS_MAX_CONDS. *@id gets the number, reused after a removal. */
int stops_add(struct stops *s, const struct stop_cond *c, int *id) __must_check;
void stops_remove(struct stops *s, int id);
/* Debug registers: @len 1, 2, 4, 8, aligned; -ENOSPC when the four are used. */
int stops_watch(struct stops *s, enum watch_kind kind, u64 addr, u32 len,
		int *id) __must_check;
void stops_unwatch(struct stops *s, int id);
/* How often condition @id held since it was added (a lower bound until the
 * task is stopped). */
u64 stops_count(struct stops *s, int id);
/* The way that serves condition @id once it has been run. */
enum stop_way stops_way(struct stops *s, int id);

/*
 * Does @way work on this machine? 0, or -errno with the reason in @why.
 */
int stops_probe(enum stop_way way, char *why, size_t n) __must_check;

struct stops_run_opts {
	bool step; /* one instruction (a rep prefix: one iteration) */
	/* A condition whose ip is the current rip: true: it is looked at before
	 * anything runs (pass 1 can be here); false: the thread first moves on. */
	bool look_here;
	u64 budget_ns; /* wall time, 0: none */
	const volatile bool *interrupt;
};

/*
 * Resume with PTRACE_SYSEMU (a system call stops before it runs) until
 * something above happens. The task is stopped on return, except if it died
 * (STOPPED_OTHER with TRACEE_EXITED or TRACEE_KILLED).
 */
int stops_run(struct stops *s, const struct stops_run_opts *o,
	      struct stop_result *res) __must_check;

/* Take everything out of the task; conditions stay and are armed again by the
 * next stops_run(). */
int stops_clean(struct stops *s) __must_check;
/* The program's own bytes, whatever is armed. */
int stops_read(struct stops *s, u64 addr, void *buf, size_t n) __must_check;
int stops_write(struct stops *s, u64 addr, const void *buf, size_t n) __must_check;

#endif
