/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * internal.h - the recorder's own picture: the session, its tasks (one a
 * thread of the program), their address spaces, and what a stop leads to.
 *
 * One task at a time runs program code: session.cur. The others are stopped,
 * or inside the kernel in a call that was split (EV_ENTER is written, EV_LEAVE
 * will be once the current one stands at an event).
 */
#ifndef PLAYHEAD_RECORD_INTERNAL_H
#define PLAYHEAD_RECORD_INTERNAL_H

#include <sched.h>
#include <signal.h>

#include "base/base.h"
#include "base/buf.h"
#include "record/record.h"
#include "sample/sampler.h"
#include "syscall/syscall.h"
#include "trace/trace.h"
#include "tracee/tracee.h"

/* The kernel leaves this much below the stack free of mappings, and more. */
#define STACK_MAX (64UL << 20)

/* An address space. */
struct mm {
	int refs; /* live tasks in it */
	u64 brk;
	u64 stack_low, stack_end; /* as replay maps it: all it may grow to */
};

/*
 * What the program does with SIGSEGV, as its threads share it. A trapped
 * instruction raises one, for which the kernel undoes that it is blocked or
 * ignored: the program is not to see that.
 */
struct segv {
	int refs;
	u8 action[32]; /* the kernel's struct sigaction */
};

enum task_state {
	TASK_READY,   /* stopped by ptrace, may be resumed */
	TASK_RUNNING, /* in program code */
	TASK_CALL,    /* in a system call, its end is awaited */
	TASK_DONE,    /* what it waited for came; stopped; work is due */
	TASK_STOPPED, /* group stop: PTRACE_LISTEN */
	TASK_DYING,   /* only its end is awaited */
};

/* The system call a task is in. */
struct call {
	bool active;
	bool split;	 /* EV_ENTER is written */
	bool restarting; /* the kernel is to enter it again by itself */
	bool finished;	 /* at its exit stop: result in `after` */
	bool skipped;	 /* the kernel did not run it: forced is its result */
	bool args_changed;
	bool has_pending; /* samples wait for its event number */
	s64 forced;
	u64 event; /* of its EV_ENTER */
	u64 began_ns;
	struct regs regs; /* at the entry stop */
	struct regs after;
	struct syscall_view view;
	const struct syscall_info *info;
	u64 hook[4]; /* a hook's own notes from entry to exit */
	struct task *child;
};

#define MAX_STASH 8
#define MAX_DIED  64

struct task {
	struct task *next;
	pid_t tid, pid;
	enum task_state state;
	struct mm *mm;
	struct segv *segv;
	u64 blocked; /* its signal mask */
	struct call call;
	struct regs regs; /* after its last event; what it is resumed with */
	u64 clear_tid;	  /* word the kernel clears at its end, or 0 */
	u64 robust;	  /* head of its robust futex list, or 0 */
	int stat_fd;	  /* /proc/TID/stat */
	u64 slice_ns;	  /* when it became current */
	u64 resumed_ns;	  /* when it last left an event */
	u64 pending;	  /* signals pending when it was resumed last */
	bool interrupted; /* PTRACE_INTERRUPT sent, its stop not seen */
	bool late_stop;	  /* another stop came first: it may still come */
	bool flushing;	  /* a skipped call takes a late interrupt's place */
	bool has_stop;	  /* `stop` waits to be seen to when it is current */
	bool yielded;
	bool spins; /* it goes round in a loop that writes nothing */
	struct tracee_stop stop;
	/* Signals put off to the next event. */
	int n_stash;
	siginfo_t stash[MAX_STASH];
	u64 stash_ns;
	/* Sent again by us, these infos are to go in. */
	int n_resent;
	siginfo_t resent[MAX_STASH];
	bool execing; /* between its exec event and the exit stop */
	bool may_block;
	bool exit_seen;
	int exit_status;
	cpu_set_t cpus; /* what it believes to run on */
	/* Robust futexes that it held when it ended. */
	int n_died;
	u64 died[MAX_DIED];
	u32 died_word[MAX_DIED];
	bool sampled, sample_due;
	u64 last_call_event;
	/* Where its handler begins, while a signal is being delivered to it. */
	const struct regs *handler;
};

/* Effects under construction. */
struct effects {
	struct effect *v;
	size_t n, cap;
	struct wbuf data;
	size_t *at; /* offset of v[i]'s bytes in data */
	size_t at_cap;
	char **names;
	size_t n_names, names_cap;
	struct regs child_regs;
	pid_t tid; /* whose memory is read */
};

struct shared {
	u64 dev, ino;
	u32 id;
};

struct session {
	const struct record_opts *opts;
	struct trace_writer *w;
	struct sampler *sampler;
	char dir[4096];
	cpu_set_t cpus; /* what the program believes to run on */
	int cpu;
	u64 start_ns;
	pid_t root; /* first process */
	int root_status;
	bool root_ended;
	int told;    /* pipe: errno of the first exec if it fails */
	bool execed; /* the program proper has begun */
	struct task *tasks, *cur;
	int n_tasks;
	struct effects fx;
	struct shared *shared;
	size_t n_shared, shared_cap;
	u32 next_share;
	u32 some_file; /* a kept file, any: see map_beyond() */
	/* Stops of children that came before their parent's event. */
	struct tracee_stop orphans[64];
	int n_orphans;
	/* Preemption. */
	struct task *last; /* where the round goes on */
	u64 timer_ns;	   /* period of the timer now, 0: off */
	bool poll_timer;   /* the sampler has to be asked in time */
	u64 drain_ns;	   /* how often samples are fetched between events */
	struct strong *strong;
	u64 strong_ns; /* when it began to watch */
	/* Samples held for the event number of the call they lie in. */
	struct sample *held;
	size_t n_held, held_cap;
	u64 lost_samples;
	/* Kernel addresses in samples, sorted, each once: named at the end. */
	u64 *kernel;
	size_t n_kernel, kernel_cap;
	char why[256]; /* recording ended early: why */
	bool over;     /* stop recording now */
	int err;
};

/* session.c */
void session_end(struct session *s, const char *fmt, ...) __printf_like(2, 3);
int session_wait(struct session *s, bool block, struct tracee_stop *stop) __must_check;
void session_stop(struct session *s, const struct tracee_stop *stop);
/* A task that is gone (-ESRCH) is seen to when its end is reported. */
static inline void tracee_ignore(int err)
{
	(void)err;
}

/* open.c: folder, sampler and description of a new trace */
int record_open(struct session *s) __must_check;

/* launch.c */
/* The filter's mark on a call that was made by int $0x80, with the numbers of
 * 32-bit programs. */
#define FILTER_FOREIGN 1

int launch_check(const char *given, char *path, size_t n, int *status) __must_check;
int launch_child(struct session *s, const char *path, pid_t *pid) __must_check;
int launch_pin(cpu_set_t *before, int *cpu) __must_check;

/* task.c */
struct task *task_new(struct session *s, pid_t tid, pid_t pid, struct mm *mm);
void task_free(struct session *s, struct task *t);
struct task *task_find(struct session *s, pid_t tid);
bool task_siblings(struct session *s, const struct task *t); /* threads of its process */
char task_kernel_state(struct task *t);
struct mm *mm_new(const struct mm *from);
void mm_put(struct mm *m);

/* sched.c: who runs */
void sched_next(struct session *s);
void sched_tick(struct session *s);
bool sched_others(struct session *s, const struct task *t);
void task_resume(struct session *s, struct task *t);
/* The same, from where no event was made. */
void task_continue(struct session *s, struct task *t);
void task_go(struct session *s, struct task *t); /* make it current and run */
void sched_event_made(struct session *s, struct task *t);

/* emit.c: events */
void emit(struct session *s, struct task *t, struct event *ev);
void emit_simple(struct session *s, struct task *t, u8 type);
void emit_enter(struct session *s, struct task *t);

/* effects.c */
void effects_reset(struct effects *e, pid_t tid);
void effects_fini(struct effects *e);
struct effect *effects_add(struct effects *e, u8 kind, u64 addr, u64 len);
int effects_mem(struct effects *e, u64 addr, u64 len);
int effects_bytes(struct effects *e, u64 addr, const void *data, u64 len);
/* Pages of [addr, addr + len) that are not zero. */
int effects_nonzero(struct effects *e, u64 addr, u64 len);
const char *effects_name(struct effects *e, const char *name);
int effects_output(struct effects *e, int fd, u64 addr, u64 len);
void effects_seal(struct effects *e, struct event *ev);

/* call.c */
void call_entered(struct session *s, struct task *t);
void call_exited(struct session *s, struct task *t);
void call_finish(struct session *s, struct task *t);

/* hooks.c: what a table row cannot say */
struct hook {
	/* Before the call is run; may set skipped/forced, args_changed. */
	void (*enter)(struct session *s, struct task *t, struct regs *r);
	/* After it, for the effects. */
	void (*leave)(struct session *s, struct task *t, s64 ret);
};
const struct hook *hook_find(long nr);
int own_output(struct session *s, struct task *t, int fd);

/* memory.c */
/* Number of a shared object; @dev 0: always a new one. */
u32 share_id(struct session *s, u64 dev, u64 ino, bool *fresh);
/* EF_MAP of the file open at @fd, with what a shared one holds. */
int keep_mapping(struct session *s, int fd, u64 addr, u64 len, u32 prot, u32 flags,
		 u64 offset, const char *name) __must_check;
/* EF_MAP of what lies past the end of a mapped file: touching it is SIGBUS. */
void map_beyond(struct session *s, u64 addr, u64 len, u32 prot);
struct effect *add_map(struct session *s, u64 addr, u64 len, u32 prot, u32 flags);
bool program_can_write(pid_t tid, int fd);
void hook_rlimit_leave(struct session *s, struct task *t, s64 ret);
void hook_file_written(struct session *s, struct task *t, s64 ret);
void hook_mmap_leave(struct session *s, struct task *t, s64 ret);
void hook_mmap_enter(struct session *s, struct task *t, struct regs *r);
void hook_munmap_leave(struct session *s, struct task *t, s64 ret);
void hook_mprotect_leave(struct session *s, struct task *t, s64 ret);
void hook_mremap_enter(struct session *s, struct task *t, struct regs *r);
void hook_mremap_leave(struct session *s, struct task *t, s64 ret);
void hook_brk_leave(struct session *s, struct task *t, s64 ret);
void hook_madvise_enter(struct session *s, struct task *t, struct regs *r);
void hook_madvise_leave(struct session *s, struct task *t, s64 ret);
void hook_shmat_leave(struct session *s, struct task *t, s64 ret);
void hook_shmdt_enter(struct session *s, struct task *t, struct regs *r);
void hook_shmdt_leave(struct session *s, struct task *t, s64 ret);

/* process.c: fork, exec, exit */
void process_forked(struct session *s, struct task *t, int event);
void process_fork_effects(struct session *s, struct task *t, s64 ret);
struct task *process_execed(struct session *s, pid_t tid); /* who called exec */
void process_exec_event(struct session *s, struct task *t);
void process_exec_done(struct session *s, struct task *t);
void process_exiting(struct session *s, struct task *t);
void process_ended(struct session *s, struct task *t, const struct tracee_stop *stop);
/* Of a task that is not known any more: a leader whose end was written when
 * it became a zombie. */
void process_unknown_ended(struct session *s, const struct tracee_stop *stop);

/* exec.c: the new image */
int exec_image(struct session *s, struct task *t) __must_check;
int exec_stack_limit(pid_t tid, u64 *bytes) __must_check;

/* trap.c: RDTSC, RDTSCP, CPUID. true: it was one, an event is written. */
void trap_note_mask(struct task *t);
void trap_exec(struct session *s, struct task *t);
void hook_sigaction_leave(struct session *s, struct task *t, s64 ret);
struct segv *segv_new(const struct segv *from);
void segv_put(struct segv *g);
bool trap_emulate(struct session *s, struct task *t, const siginfo_t *si);

/* signal.c */
void signal_stopped(struct session *s, struct task *t, int sig);
void signal_resend(struct session *s, struct task *t);
u64 signal_pending(const struct task *t); /* a mask */
/* The current task was stopped by PTRACE_INTERRUPT, in program code. */
void signal_point(struct session *s, struct task *t);
/* Make the place where the task is stopped, in program code, an event. */
void signal_here(struct session *s, struct task *t);

/* strong.c: what tells one pass over a place from the next */
int strong_begin(struct session *s, struct task *t) __must_check;
/*
 * Let the thread come by its place once more. 0: it stands in program code,
 * there or elsewhere; -EAGAIN: *@stop came instead and is to be seen to.
 */
int strong_settle(struct session *s, struct task *t, struct tracee_stop *stop) __must_check;
int strong_point(struct session *s, struct task *t, struct point *p) __must_check;
void strong_drop(struct session *s);

/* samples.c */
int samples_open(struct session *s) __must_check;
void samples_close(struct session *s);
void samples_add_task(struct session *s, struct task *t);
void samples_del_task(struct session *s, struct task *t);
void samples_drain(struct session *s);
void samples_flush_call(struct session *s, struct task *t, u64 event);
/* Samples that wait for the number of an event of @t that is written now. */
void samples_flush(struct session *s, struct task *t, u64 event);
void samples_blocked(struct session *s, struct task *t);
/* Without better samplers: a timer asked for the task to be stopped. */
bool samples_due(struct session *s, struct task *t);
void samples_take(struct session *s, struct task *t);

#endif
