/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replay.h - what the files of src/replay share.
 *
 * A world is one moment of the recording: threads (register sets), address
 * spaces (one stopped kernel task each, the host), shared objects. The present
 * is a world; so is a checkpoint, whose hosts never run.
 */
#ifndef PLAYHEAD_REPLAY_H
#define PLAYHEAD_REPLAY_H

#include "replay/timeline.h"

/* ---- host.c: the kernel tasks ---- */

/* A traced, stopped task that has nothing but the agent mapped. */
int host_seed(pid_t *out) __must_check;
/* A copy of @from, which is stopped; its registers are of no use. */
int host_fork(pid_t from, pid_t *out) __must_check;
void host_kill(pid_t pid);
/* Set the extended state to what execve leaves. */
int host_init_xstate(pid_t pid) __must_check;

/* ---- world.c ---- */

struct share {
	u32 id;
	int fd; /* memfd in the supervisor */
	u64 size;
};

struct thread;

struct space {
	u32 id; /* the same in every copy of the world */
	unsigned refs;
	pid_t host;
	struct stops *stops;   /* made when first run */
	struct thread *loaded; /* whose registers the host holds */
	bool dirty;	       /* loaded->regs are newer than the host's */
	struct maps maps;
	char *exe;
	u8 *auxv;
	size_t auxv_len;
};

struct thread {
	u32 tid, pid;
	struct space *space;
	bool in_call;	  /* between its EV_ENTER and EV_LEAVE */
	struct regs regs; /* always current */
	u8 *xstate;	  /* current unless loaded; NULL: as execve leaves it */
	size_t xstate_len;
};

struct world {
	u64 event; /* last applied */
	u64 time_ns;
	u32 tid;      /* the present thread */
	bool arrived; /* tid stands at the place of the next event */
	struct thread **threads;
	size_t n_threads, cap_threads;
	struct space **spaces;
	size_t n_spaces, cap_spaces;
	struct share *shares;
	size_t n_shares, cap_shares;
	u32 last_space;
};

struct world *world_new(void);
void world_free(struct world *w);
/* A copy with forked hosts. @from keeps its own. */
int world_fork(struct world *from, struct world **out) __must_check;
struct thread *world_thread(const struct world *w, u32 tid);
/* Any thread of process @pid, NULL if there is none. */
struct thread *world_process(const struct world *w, u32 pid);
int world_add_thread(struct world *w, u32 tid, u32 pid, struct space *s,
		     struct thread **out) __must_check;
void world_del_thread(struct world *w, struct thread *th);
/* @host is taken over, also on error. */
int world_add_space(struct world *w, pid_t host, struct space **out) __must_check;
/* One thread less; the last one takes the host with it. */
void space_put(struct world *w, struct space *s);
struct share *world_share(struct world *w, u32 id);
int world_add_share(struct world *w, u32 id, struct share **out) __must_check;

/* Bring @th into its host, ready for space_run(). */
int space_load(struct thread *th, enum stop_way force) __must_check;
/* Take the loaded thread's state out of the host. */
int space_unload(struct space *s) __must_check;
int space_read(struct space *s, u64 addr, void *buf, size_t n) __must_check;
int space_write(struct space *s, u64 addr, const void *buf, size_t n) __must_check;
/* Nothing of stops is left in the task. */
int space_clean(struct space *s) __must_check;
void thread_set_regs(struct thread *th, const struct regs *regs);
int thread_set_xstate(struct thread *th, const void *buf, size_t len) __must_check;
int thread_get_xstate(struct thread *th, void *buf, size_t *len) __must_check;

/* ---- apply.c ---- */

int apply_effects(struct timeline *t, struct thread *th,
		  const struct event *ev) __must_check;
/* Map @share of @w where @m says, in @s. */
int apply_map_share(struct world *w, struct space *s, const struct map *m) __must_check;

/* ---- session.c: forwards, event by event ---- */

struct ckpt;

enum run_end {
	RUN_STOP = 1, /* a condition, watch, step or time: res */
	RUN_ARRIVED,  /* at the place of the next event, checked */
	RUN_OVER,     /* no event is left */
};

struct run_result {
	enum run_end end;
	struct stop_result res;
};

/* The event after the present; NULL at the end (and *err 0) or on error. */
const struct event *session_next(struct timeline *t, int *err);
/*
 * Run the thread of the next event towards its place. -EILSEQ: it is not
 * reached as recorded (the divergence is filled in and logged).
 */
int session_run(struct timeline *t, const struct stops_run_opts *o,
		struct run_result *r) __must_check;
/* Apply the next event; the present has arrived (or nothing is to be run). */
int session_apply(struct timeline *t) __must_check;
/* The present was replaced or has moved on to another event. */
void session_forget(struct timeline *t);
/* Does something run between the present and the place of @ev? */
bool event_runs(const struct event *ev);
/* session_run() to arrival, then session_apply(). 1: applied, 0: the end. */
int session_step_event(struct timeline *t) __must_check;
/* The thread that runs next, NULL at the end. */
struct thread *session_thread(struct timeline *t);

/* ---- diverge.c ---- */

/* Fill, log, return -EILSEQ. */
int diverge(struct timeline *t, const struct event *ev, const struct regs *actual,
	    const char *what, const char *fmt, ...) __printf_like(5, 6);

/* ---- target.c: a point as something to run to ---- */

struct target {
	const struct point *point;
	struct stop_cond cond;
	u32 rep_len;   /* inside a rep string instruction of this length */
	u32 rep_moves; /* a bit for rsi, rdi if it counts along */
	u8 rep_size;   /* bytes an iteration moves */
};

/* Reads the code at the point in @th's space. */
int target_init(struct target *g, const struct point *p, struct thread *th) __must_check;
/*
 * @th stands where the condition holds: is it the point? 1: yes, and inside a
 * rep instruction the thread has been moved to the point's iteration.
 */
int target_check(struct timeline *t, struct target *g, struct thread *th) __must_check;
/* Do the registers of @th meet the condition (words and print not asked)? */
bool target_near(const struct target *g, const struct thread *th);
/* Is the state of @th the very state of the point, as it stands? */
int target_here(const struct target *g, struct thread *th) __must_check;
void target_explain(const struct target *g, struct thread *th, char *out, size_t n);

struct timeline {
	struct timeline_opts opts;
	struct trace_reader *reader;
	struct trace_cursor *cursor;
	u64 cursor_at;		  /* number of the event that it gives next */
	const struct event *next; /* the event after the present, if known */
	pid_t seed;
	u64 begin; /* the event that begins the first program */
	struct world *now;
	u64 output_done; /* events up to here have been output */
	bool diverged;
	struct divergence div;
	/* The point of the next event, while it is sought (session.c). */
	struct target point;
	int point_cond; /* -1: not armed */
	struct space *point_space;
};

#endif
