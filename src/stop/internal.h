/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * internal.h - what the files of src/stop share. See stop.h for the contract.
 *
 * Words used here:
 *   site     an ip with conditions (or an execution watch) on it
 *   patch    program bytes that are covered by ours while armed
 *   arrival  the thread coming to stand before an instruction; conditions are
 *	      looked at exactly once per arrival, here or in a trampoline
 */
#ifndef PLAYHEAD_STOP_INTERNAL_H
#define PLAYHEAD_STOP_INTERNAL_H

#include <sys/wait.h>
#include <time.h>

#include "stop/hole.h"
#include "stop/stop.h"
#include "stop/tramp-hash.h"
#include "stop/tramp.h"

#define STOPS_MAX_WATCHES 4  /* debug registers */
#define STOPS_MAX_EXEC	  16 /* execution watches, served like sites */
#define STOPS_MAX_SITES	  (STOPS_MAX_CONDS + STOPS_MAX_EXEC)
#define EXEC_WATCH_ID	  STOPS_MAX_WATCHES /* ids from here are execution watches */

#define EFLAGS_TF 0x100UL
#define EFLAGS_RF 0x10000UL

struct cond {
	bool used;
	bool seen; /* looked at for the arrival the task now stands at */
	bool held; /* what came of it */
	bool due;  /* seen by a trampoline, not told to the caller yet */
	enum stop_way way;
	u64 count;
	struct stop_cond c;
};

struct watch {
	bool used;
	enum watch_kind kind;
	u64 addr;
	u32 len;
};

struct patch {
	u64 addr;
	u8 len;
	bool in; /* now[] is in the task */
	u8 orig[WINDOW_COVER], now[WINDOW_COVER];
};

/* How arrivals at a site are noticed. */
enum site_kind {
	SITE_NONE,  /* not armed */
	SITE_TRAMP, /* a check in a trampoline */
	SITE_INT3,  /* a breakpoint byte, stepped over with the byte out */
	SITE_BPF,   /* a debug register with a BPF program behind it */
	SITE_HW,    /* a debug register: the bytes cannot be written */
};

struct site {
	u64 ip;
	enum site_kind kind;
	int slot;   /* SITE_HW: debug register; SITE_BPF: of bpf.c */
	u32 passes; /* SITE_INT3: that did not stop */
	u64 conds;  /* bit i: condition i is here */
	u32 execs;  /* bit i: execution watch i is here */
};

struct stops {
	pid_t tid;
	enum stop_way force;
	bool armed, dead, dirty;
	bool fresh;	  /* nothing is known of where the task stands */
	struct regs left; /* how the last run left it */
	struct regs now;  /* of the program, while running */
	bool now_set;	  /* the task's registers are those of now */
	bool rf;	  /* the task stopped with the resume flag set */

	struct cond conds[STOPS_MAX_CONDS];
	struct watch watches[STOPS_MAX_WATCHES];
	struct watch execs[STOPS_MAX_EXEC];

	struct site sites[STOPS_MAX_SITES];
	u32 n_sites;
	struct patch patches[STOPS_MAX_SITES];
	u32 n_patches;

	struct tramp *tramps[STOPS_MAX_SITES];
	u32 n_tramps;
	struct holes holes;
	bool holes_known;
	u64 barred[64]; /* addresses that trampolines serve badly */
	u32 n_barred;
	u64 hot[64]; /* where windows are jumped into */
	u32 n_hot;
	bool placed;	/* conditions' seen flags are right for s->now */
	bool tramp_hit; /* translating a stop at a check's int3 */
	/* Where in a trampoline the last stop was: what a debug register saw there
	 * may be an access of ours, or one by a part of an instruction. */
	enum tramp_part { PART_NONE, PART_CHECK, PART_COPY } part;

	u64 busy[64]; /* sites whose int3 costs too much */
	u32 n_busy;
	struct bpf_stops *bpf; /* bpf.c's own, NULL until used */
	bool bpf_failed;

	u64 dr[4];
	u64 dr7;
	bool dr_set;	    /* some debug register is in use in the task */
	int8_t dr_owner[4]; /* watch id, DR_SITE, or DR_FREE */

	u64 deadline; /* now_ns(), 0: none */
	const volatile bool *interrupt;
	bool asked; /* PTRACE_INTERRUPT was sent in this run */
	bool stray; /* one may still be pending */
	timer_t timer;
	pid_t timer_of; /* the thread that it interrupts, 0: no timer */
};

#define DR_FREE (-1)
#define DR_SITE (-2)
#define DR_BPF	(-3)

/* patch.c: the bytes of ours in the task */
int patch_add(struct stops *s, u64 addr, const u8 *now, u8 len) __must_check;
/* Take out, put back, every patch that touches [@addr, @addr + @n). */
int patch_lift(struct stops *s, u64 addr, size_t n) __must_check;
int patch_lower(struct stops *s) __must_check;
bool patch_starts(const struct stops *s, u64 addr);
void patch_forget(struct stops *s);
/* Lay the program's bytes over what was read from the task. */
void patch_hide(const struct stops *s, u64 addr, u8 *buf, size_t n);

/* eval.c: conditions looked at by the supervisor */
struct site *site_at(struct stops *s, u64 ip);
/* Look at the conditions at s->now that were not yet: counts them. Returns
 * those that hold (and want a stop); *@exec: an execution watch or -1. */
u64 eval_arrival(struct stops *s, int *exec);
/* The thread has moved: the next look is a new arrival. */
void eval_moved(struct stops *s);
void eval_leave(struct stops *s);

/* A check in the task counted @c and stopped: registers that it cannot compare
 * (fs and gs base, the direction flag) have the last word. */
void eval_confirm(struct stops *s, struct cond *c);

/* tramp.c, tramp-emit.c, tramp-settle.c */
/* Is @addr jumped to in a window, often? A code_hot_fn; @ctx: the stops. */
bool tramp_is_hot(void *ctx, u64 addr);
bool tramp_wanted(const struct stops *s, const struct site *site);
/* Serve @site, and those after it that lie in its window: *@n in all. */
int tramp_arm(struct stops *s, struct site *site, u32 *n) __must_check;
/* After the patches are lifted. */
int tramp_disarm(struct stops *s) __must_check;
/* Counts from, and to, the task. */
int tramp_pull(struct stops *s) __must_check;
int tramp_push(struct stops *s) __must_check;
/* Where to resume instead of @ip, with its conditions looked at. */
u64 tramp_past(struct stops *s, u64 ip);
/* First of all at every stop: s->now becomes the program's. *@arrived: the stop
 * was the trampoline's own, the thread stands before an instruction. */
int tramp_settle(struct stops *s, const struct tracee_stop *st, bool stepped,
		 bool *arrived) __must_check;
/* @ip is covered by a jump, in the middle of a displaced instruction. */
bool tramp_inside(const struct stops *s, u64 ip);
/* tramp-filter.c: leaves 0 in rcx, else surely not the wanted registers. */
bool tramp_can_filter(const struct stop_cond *c);
void tramp_emit_sum(struct wbuf *out, const struct stop_cond *c, const struct regs *now);
int tramp_emit(struct stops *s, struct tramp *t, struct wbuf *out) __must_check;
/* The flags as lahf and seto %al leave them in ax; and back over @eflags. */
u16 tramp_flags_pack(u64 eflags);
u64 tramp_flags_unpack(u64 eflags, u64 saved);

/* bpf.c */
int bpf_arm(struct stops *s, struct site *site) __must_check;
void bpf_disarm(struct stops *s);
void bpf_fini(struct stops *s);
/* Counts from, and to, the program. */
void bpf_pull(struct stops *s);
void bpf_push(struct stops *s);
/* The program has looked at the conditions of @site, where the task stands. */
void bpf_settle(struct stops *s, const struct site *site);
int bpf_probe(char *why, size_t n) __must_check;

/* debugreg.c */
/* A register for someone who loads it by other means. */
int debugreg_take(struct stops *s, int owner) __must_check;
int debugreg_alloc(struct stops *s, enum watch_kind kind, u64 addr, u32 len,
		   int owner) __must_check;
void debugreg_free(struct stops *s, int slot);
int debugreg_load(struct stops *s) __must_check;
int debugreg_unload(struct stops *s) __must_check;
/* Which registers fired since the last call (bits 0..3); clears them. */
u32 debugreg_fired(struct stops *s);

/* arm.c */
int stops_arm(struct stops *s) __must_check;

/* wait.c: run until the task stops, within the budget */
int wait_begin(struct stops *s, const struct stops_run_opts *o) __must_check;
void wait_end(struct stops *s);
void wait_fini(struct stops *s);
/* Time is up or the caller wants us back. */
bool wait_over(const struct stops *s);
/* Resume with @how and wait. -ETIME is never returned: an interruption comes
 * as PTRACE_EVENT_STOP with s->asked. */
int wait_resume(struct stops *s, int how, struct tracee_stop *st) __must_check;
/* Absorb an interruption that may still be pending, without running. */
int wait_flush(struct stops *s) __must_check;

/* run.c: s->now from the task, and into it if it was changed */
int now_load(struct stops *s) __must_check;
int now_store(struct stops *s) __must_check;

/* step.c */
/* One instruction of the program from s->now, with its bytes in place. */
int step_once(struct stops *s, struct tracee_stop *st) __must_check;

#endif
