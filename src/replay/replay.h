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
	bool fresh;	  /* an event moved it, and it has not run since */
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
	u64 cost;	/* nanoseconds of replay from the beginning to here */
	u64 start_cost; /* that at the last event */
	u32 passed;	/* matches of the next event's point that were run past */
	bool passing;	/* and the thread still stands at the last of them */
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
/* Does @ev lie at a point? */
bool session_is_point(const struct event *ev);
/* Does the present stand at the point of the next event? Then it has arrived. */
bool session_at_point(struct timeline *t);
/*
 * A loop that changes nothing has the state of a point once in each turn, and
 * of a sample before the point perhaps only after the first match. So the
 * present, which has arrived at a point, may go on to the next match; being
 * there is the same.
 */
void session_pass(struct timeline *t);
/* Do so at the first match of the point of event @number, whenever replay comes
 * there. False: it is at no point, or known already. */
bool session_make_late(struct timeline *t, u64 number);
void session_forget_late(struct timeline *t, u64 number);
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

/* Run @n iterations of the rep instruction of @len bytes that @th stands at. */
int rep_run(struct timeline *t, struct thread *th, u32 len, u64 n) __must_check;
/* The same; every stop on the way, of watchpoints too, is shown to @seen. */
typedef void (*rep_seen_fn)(void *ctx, struct thread *th, const struct stop_result *res);
int rep_run_seeing(struct timeline *t, struct thread *th, u32 len, u64 n, rep_seen_fn seen,
		   void *ctx) __must_check;
/* Length of the rep string instruction at @ip, 0 if it is none. */
u32 rep_length(struct thread *th, u64 ip);

/* ---- pos.c: exact places ---- */

enum hop_kind {
	HOP_PASS,  /* the n-th arrival at ip from here on */
	HOP_STEP,  /* n single steps */
	HOP_REP,   /* n iterations of the rep instruction at ip */
	HOP_WATCH, /* the n-th hit of a watchpoint */
};

struct hop {
	u8 kind, watch;
	u32 len; /* of the watchpoint, of the rep instruction */
	u64 ip;	 /* or the watchpoint's address */
	u64 n;
};

#define POS_HOPS 12

/*
 * A place by how to get there: from the start of the interval after `event`,
 * or from checkpoint `base` inside it, by hops; or all the way to the place of
 * the next event. Replay is deterministic, so this is an identity.
 */
struct pos {
	u64 event;
	u32 base; /* checkpoint id, 0: none */
	bool arrived;
	u32 n_hops;
	struct hop hops[POS_HOPS];
	u32 tid;
	struct regs regs; /* of tid, there; checked at every landing */
};

/* Is @p the very start of its interval? */
bool pos_is_start(const struct pos *p);
/* Add a hop; merges steps. -ENOSPC: too many. */
int pos_hop(struct pos *p, const struct hop *h) __must_check;
/* Note where the present is: after event now->event, nothing run. */
void pos_now_start(struct timeline *t);
/* The present moved by @h within its interval. */
int pos_now_hop(struct timeline *t, const struct hop *h) __must_check;
/* Stand at @p; what is not as it was is -EIO, logged. */
int pos_goto(struct timeline *t, const struct pos *p) __must_check;
/*
 * From the base of @p run its hops while conditions of the caller count along.
 * The caller has put the present at the base.
 */
int pos_run(struct timeline *t, const struct pos *p) __must_check;
/* Run on by one hop, which becomes part of the present's place. */
int pos_advance(struct timeline *t, const struct hop *h) __must_check;
bool pos_equal(const struct pos *a, const struct pos *b);
/* Put the present at the base of @p. */
int pos_base(struct timeline *t, const struct pos *p) __must_check;
/* @p as its base, one pass at most, and rep iterations; the present is there. */
int pos_canon(struct timeline *t, const struct pos *p, struct pos *out) __must_check;

/* ---- checkpoint.c ---- */

struct ckpt {
	u32 id;
	struct world *w; /* NULL: given up, `at` says how to get there */
	u64 event, cost;
	u64 offset;  /* cost from the start of the interval */
	bool inside; /* an interval, not at its start */
	bool known;  /* `at` is, beyond the event */
	struct pos at;
};

/* Every this much replay a checkpoint is laid. */
#define CKPT_NS (100 * NSEC_PER_MSEC)

/* A checkpoint of the present if the last one is long enough ago. */
int ckpt_lay(struct timeline *t) __must_check;
/* One at the present, the start of an interval, in any case. */
int ckpt_start(struct timeline *t) __must_check;
/* One inside the interval; the present's place is based on it afterwards. */
int ckpt_inside(struct timeline *t, bool known) __must_check;
struct ckpt *ckpt_find(struct timeline *t, u32 id);
int ckpt_restore(struct timeline *t, const struct ckpt *c) __must_check;
/* Take over @w as the present. */
void ckpt_enter(struct timeline *t, struct world *w);
/* Make `at` of @c known. Moves the present. */
int ckpt_resolve(struct timeline *t, struct ckpt *c) __must_check;
/* The last one from which event @number, nothing run after it, is ahead. */
struct ckpt *ckpt_before(struct timeline *t, u64 number);
/* The last one inside the interval after event @number: its id or 0. */
u32 ckpt_last_inside(const struct timeline *t, u64 number);
/* The last one that lies at most @offset ns of running after it. */
u32 ckpt_inside_before(const struct timeline *t, u64 number, u64 offset);
/* Bring the number down to what is allowed, sparing what the present needs. */
void ckpt_thin(struct timeline *t);
void ckpt_free_all(struct timeline *t);

/* ---- seek.c ---- */

/* Stand right after event @number. */
int seek_event(struct timeline *t, u64 number) __must_check;
/* Run on within the interval to the first match of @p; -ENOENT: none. */
int seek_from_here(struct timeline *t, const struct point *p) __must_check;
/* The place of @th in the present world as a point. */
int point_of(struct timeline *t, struct thread *th, struct point *out) __must_check;
/* One event further, laying checkpoints on the way. 1: done, 0: the end. */
int travel_event(struct timeline *t) __must_check;

/* ---- breaks.c: breakpoints and watchpoints ---- */

struct brk {
	int id;
	bool is_watch;
	u32 pid;
	u64 addr;
	u32 len;
	enum watch_kind kind;
	timeline_cond_fn cond;
	void *ctx;
	/* while armed */
	struct space *space;
	int armed; /* condition or watch id in space->stops, -1 */
	u64 seen;  /* passes or hits since the present place was noted */
	/* Backwards: the number of the last one in an interval, and in the latest
	 * interval that had any. */
	u64 last, kept;
};

/* Arm those of the process of @th in its space, for session_run(). */
int breaks_arm(struct timeline *t, struct thread *th, u32 pid) __must_check;
void breaks_disarm(struct timeline *t);
/* @s is going away. */
void breaks_forget(struct timeline *t, const struct space *s);
/* Passes are counted from here. */
void breaks_restart(struct timeline *t);
/* Does the event just applied write what is watched? NULL or the watch. */
struct brk *breaks_written(struct timeline *t, const struct event *ev, u32 pid);

/* ---- backward.c ---- */

/* One instruction of @tid back; -ENODATA: there is none before. */
int back_step(struct timeline *t, u32 tid) __must_check;
/* Stand before the instruction at @ip that ran into event @number. */
int back_to_insn(struct timeline *t, u64 number, u64 ip) __must_check;
int back_continue(struct timeline *t, u32 pid, struct travel_result *r) __must_check;

/* ---- divert.c ---- */

int divert_run(struct timeline *t, bool step, struct travel_result *r) __must_check;

/* ---- window.c: a stretch of single-stepped states, remembered ---- */

struct window {
	struct world *w; /* at r[0] */
	struct pos from; /* of r[0] */
	struct regs *r;
	size_t n, cap;
	struct pos here; /* the place that r[at] was last stood at by */
	size_t at;
};

#define WINDOW_STEPS 1500

void window_drop(struct timeline *t);
/* A new one that begins at the present. */
int window_begin(struct timeline *t) __must_check;
/* Put the present at its beginning. */
int window_restart(struct timeline *t) __must_check;
/* Arrivals at @ip among r[1..i]; @rep: iterations of the rep instruction there
 * are one. *@last: the index of the last one. */
u64 window_arrivals(const struct window *w, size_t i, u64 ip, bool rep, size_t *last);
/* Where the present is in the window, -1: not in it. */
ssize_t window_index(struct timeline *t);
int window_goto(struct timeline *t, size_t i) __must_check;
/* chase.c: make a window that ends at @p, which is inside an interval. The present is
 * anywhere afterwards. */
int window_build(struct timeline *t, const struct pos *p) __must_check;

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
	u32 tail;	/* who runs after the last event of a cut recording */
	u64 rep_done;	/* iterations that the last target_check() ran */
	struct pos pos; /* of the present */
	bool strayed;	/* it ran on since pos was noted */
	struct ckpt *ckpts;
	size_t n_ckpts, cap_ckpts;
	u32 last_ckpt;
	u64 fork_ns; /* what the last checkpoint took */
	struct brk *brks;
	size_t n_brks, cap_brks;
	int last_brk;
	struct window win;
	bool no_ckpts; /* while looking around, none are laid */
	/* The entry stop of this call was asked for: stepping stops at it too, in
	 * both directions, so that steps back are undone by as many forward. */
	u64 entry_event;
	u64 *late; /* events whose points are met at their second match */
	size_t n_late, cap_late;
	bool trial;	 /* not to come to the place of the next event is -ENOENT only */
	u64 told_signal; /* this EV_SIGNAL was announced already */
	struct diversion *diversion;
};

#endif
