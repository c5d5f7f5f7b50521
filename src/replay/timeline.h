/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * timeline.h - a recording as a place one can travel in: what the gdb
 * server, the console, verify and the deferred passes stand on.
 *
 * The present is one thread of one process standing somewhere between two
 * events; the other threads stand where they were last left. Going forwards
 * is replay; going backwards is forwards from a checkpoint (a forked, stopped
 * copy of every replayed process).
 */
#ifndef PLAYHEAD_TIMELINE_H
#define PLAYHEAD_TIMELINE_H

#include "stop/stop.h"
#include "trace/trace.h"

struct timeline;

struct timeline_opts {
	enum stop_way force;
	const volatile bool *interrupt; /* polled in every loop; -EINTR */
	size_t max_checkpoints;		/* 0: the default */
	/* Called with bytes that the program wrote to stdout (1) or stderr (2)
	 * when an event with EF_OUTPUT is applied for the first time. */
	void (*output)(void *ctx, int fd, const void *data, size_t n);
	/* Called now and then in long work: event number reached, of how many. */
	void (*progress)(void *ctx, u64 event, u64 events);
	void *ctx;
};

/* Logs on failure. Stands before the first instruction of the first program. */
int timeline_open(struct timeline **out, const char *dir,
		  const struct timeline_opts *o) __must_check;
void timeline_close(struct timeline *t);
struct trace_reader *timeline_reader(struct timeline *t);

/* ---- divergence ---- */

struct divergence {
	u64 event;
	u32 tid;
	char what[128]; /* "registers differ at system call read" */
	struct regs expected, actual;
	char detail[512]; /* "rax 0x1 != 0x2, ..." or what came instead */
};

/* After a call returned -EILSEQ: why. Logged already, once. */
const struct divergence *timeline_divergence(const struct timeline *t);

/* ---- the present ---- */

struct timeline_where {
	u64 event;	 /* last event applied */
	u64 events;	 /* in the whole recording */
	u32 tid, pid;	 /* the present thread */
	u64 time_ns;	 /* of that event */
	bool at_start;	 /* nothing has run */
	bool at_end;	 /* the last event was applied: no thread runs any more */
	bool in_syscall; /* tid stands at the entry stop of the next event's call */
};

void timeline_where(const struct timeline *t, struct timeline_where *w);

/* Threads alive now, of process @pid (0: all). Returns how many there are and
 * fills at most @n of tids/pids. */
size_t timeline_threads(const struct timeline *t, u32 pid, u32 *tids, u32 *pids, size_t n);
int timeline_regs(struct timeline *t, u32 tid, struct regs *out) __must_check;
int timeline_xstate(struct timeline *t, u32 tid, void *buf, size_t *len) __must_check;
/* Memory of process @pid as the program sees it; all or -EFAULT. */
int timeline_read(struct timeline *t, u32 pid, u64 addr, void *buf, size_t n) __must_check;
/* The siginfo of the signal stop at the present; -ENODATA if it is none. */
int timeline_siginfo(struct timeline *t, siginfo_t *out) __must_check;
const struct maps *timeline_maps(struct timeline *t, u32 pid);
/* Path of the program of @pid as the program saw it, its auxv. Borrowed. */
const char *timeline_exe(struct timeline *t, u32 pid);
const u8 *timeline_auxv(struct timeline *t, u32 pid, size_t *len);

/* ---- breakpoints and watchpoints of process @pid, kept over travel ---- */

/* Evaluated at a hit; return 1: stop, 0: go on. The present is the hit. */
typedef int (*timeline_cond_fn)(void *ctx, struct timeline *t);

int timeline_break(struct timeline *t, u32 pid, u64 addr, timeline_cond_fn cond, void *ctx,
		   int *id) __must_check;
int timeline_watch(struct timeline *t, u32 pid, enum watch_kind kind, u64 addr, u32 len,
		   int *id) __must_check;
int timeline_unbreak(struct timeline *t, int id) __must_check; /* either kind */

/* ---- travel ---- */

enum travel_end {
	TRAVEL_BREAK,  /* breakpoint: id; rip is the breakpoint's */
	TRAVEL_WATCH,  /* watchpoint: id, addr. Forwards: after the access.
			* Backwards: rip is the instruction that made it, not yet run. */
	TRAVEL_STEP,   /* one instruction */
	TRAVEL_SIGNAL, /* sig is about to be delivered to tid (forwards), or was
			* (backwards: before its delivery) */
	TRAVEL_BEGIN,  /* start of the recording */
	TRAVEL_END,    /* end of the recording; the first process ended: status */
	TRAVEL_INTERRUPTED,
};

struct travel_result {
	enum travel_end end;
	int id;
	u64 addr;
	int sig;
	s32 status;
	u32 tid, pid; /* the present thread afterwards */
};

/*
 * Travel. @tid is the thread to step (0: the present one); stepping a thread
 * that is not the present one runs the recording until it has moved by one
 * instruction. @pid limits stops to one process (0: any).
 */
int timeline_continue(struct timeline *t, u32 pid, bool backwards,
		      struct travel_result *r) __must_check;
int timeline_step(struct timeline *t, u32 tid, bool backwards,
		  struct travel_result *r) __must_check;

/*
 * The one primitive: stand at @p. -ERANGE: no such event; -ENOENT: the
 * interval after p->event has no such state (lost), the present is then what
 * it was before.
 */
int timeline_seek(struct timeline *t, const struct point *p) __must_check;
/* Stand just after event @number was applied, before its thread runs on. */
int timeline_seek_event(struct timeline *t, u64 number) __must_check;
/* Seek sample @number: a SAMPLE_SYSCALL or _BLOCKED one stands at its entry. */
int timeline_seek_sample(struct timeline *t, u64 number) __must_check;
/* The present as a point (for bookmarks). point_fini() it. */
int timeline_point(struct timeline *t, struct point *out) __must_check;

/* ---- diversion: life in a copy; the recording is never altered ---- */

/* Make the present live in a copy: from now on writes are allowed and
 * continue/step (forwards) run the copy, whose system calls are refused with
 * ENOSYS, except harmless ones (brk, anonymous mmap, write to fd 1 and 2,
 * which goes to output()). */
int timeline_divert(struct timeline *t) __must_check;
bool timeline_diverted(const struct timeline *t);
/* Throw the copy away: the present is what it was. */
int timeline_undivert(struct timeline *t) __must_check;
/* -EPERM if not diverted. */
int timeline_write(struct timeline *t, u32 pid, u64 addr, const void *buf,
		   size_t n) __must_check;
int timeline_set_regs(struct timeline *t, u32 tid, const struct regs *regs) __must_check;
int timeline_set_xstate(struct timeline *t, u32 tid, const void *buf,
			size_t len) __must_check;

/* ---- verify ---- */

struct verify_counts {
	u64 events, samples, exact, repeated, lost, divergences;
	/* By way that found them. */
	u64 by_way[NR_STOP_WAYS];
};

/*
 * From the present (which must be the start) to the end in one pass: seek
 * every sample, run on to the next sample or event counting further matches.
 * @each may be NULL; matches 0: lost.
 */
int timeline_verify(struct timeline *t, struct verify_counts *c,
		    void (*each)(void *ctx, const struct sample *s, u64 matches),
		    void *ctx) __must_check;

/* Run to the end, applying and checking every event (playhead replay). */
int timeline_run_out(struct timeline *t, s32 *status) __must_check;

#endif
