/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * format.h - what a trace holds, as decoded in memory. The bytes on disk are
 * described in src/trace/codec.c; this is what record writes and replay,
 * sample and sym read.
 *
 * An event is all that entered the program from outside at one place of one
 * thread. Replay needs no knowledge of system calls: the event says how the
 * thread gets to its place (type), what its registers must be there (regs),
 * and what then changes (effects, then regs_after and xstate).
 */
#ifndef PLAYHEAD_FORMAT_H
#define PLAYHEAD_FORMAT_H

#include <signal.h>

#include "base/base.h"
#include "arch/x86_64/regs.h"
#include "point/point.h"

#define TRACE_VERSION 1

enum event_type {
	/* A process comes to be: the first one. Effects: FORK absent, see EXEC. */
	EV_START = 1,
	/* New image in @tid (which is in execve, or in EV_START): its mm is
	 * replaced; effects build the new one; every other thread of the process
	 * is gone (their EV_EXIT come before). regs_after: at the first
	 * instruction. Also ends the execve of this thread. */
	EV_EXEC,
	/* A whole system call, entry to exit: run the thread to its syscall
	 * instruction; regs at the entry stop (rip after the instruction,
	 * rax -ENOSYS, orig_rax the number). */
	EV_SYSCALL,
	/* Entry alone: the thread entered a call and another thread ran before
	 * it came out. Run to the syscall instruction, change nothing. */
	EV_ENTER,
	/* The result of the call that @tid entered by EV_ENTER. Nothing is run.
	 * Also used when a call is ended by a signal's frame or by exec: then the
	 * registers change only by what follows. */
	EV_LEAVE,
	/* A trapped instruction (RDTSC, RDTSCP, CPUID): run to its #GP, regs with
	 * rip at it; regs_after past it with the recorded values. */
	EV_TRAP,
	/* A signal is delivered. where: see event.where. For a handler:
	 * regs_after is its first instruction, effects hold the frame, xstate the
	 * state it starts with. Fatal: an EV_EXIT of each thread follows. */
	EV_SIGNAL,
	/* The thread was preempted at point. Nothing changes. */
	EV_SCHED,
	/* The thread ends. Nothing is run. Effects: the word that the kernel clears. */
	EV_EXIT,
	NR_EVENT_TYPES
};

extern const char *const event_type_names[NR_EVENT_TYPES];

/* Where an EV_SIGNAL lies. */
enum event_where {
	WHERE_HERE = 1, /* right after the thread's last event: nothing is run */
	WHERE_FAULT,	/* run until the same signal is raised by the instruction */
	WHERE_POINT,	/* run to event.point */
};

enum effect_kind {
	EF_MEM = 1, /* addr, len, data: bytes the kernel wrote */
	EF_MAP,	    /* addr, len, prot, flags, offset, file, share, name */
	EF_UNMAP,   /* addr, len */
	EF_PROTECT, /* addr, len, prot */
	EF_REMAP,   /* from, from_len -> addr, len: mremap moved or resized;
		     * flags & MREMAP_DONTUNMAP keeps the source, emptied */
	EF_DISCARD, /* addr, len: private pages go back to their file or zero */
	EF_FORK,    /* child tid/pid with a copy of the address space (share 0)
		     * or in the same one (share 1: threads, vfork); the child
		     * starts with child_regs */
	EF_OUTPUT,  /* the call wrote [addr, addr+len) of the program's memory to
		     * the recorder's own stdout (fd 1) or stderr (fd 2): what
		     * playhead replay repeats. Several make one write in order. */
	NR_EFFECT_KINDS
};

/* A file kept in the trace, by number; 0 is "none, anonymous". */
struct trace_file {
	u32 id;
	u32 mode; /* st_mode at record time */
	u64 size;
	u64 dev, ino;	  /* as recorded, shown in /proc/pid/maps form */
	const char *name; /* as the program's /proc/pid/maps showed it */
	const char *kept; /* path below the trace folder, "files/3"; "" if not kept */
};

struct effect {
	u8 kind;
	u64 addr, len;
	union {
		struct {
			const u8 *data; /* borrowed from the event's block */
		} mem;
		struct {
			u32 prot, flags; /* MAP_SHARED or MAP_PRIVATE, MAP_GROWSDOWN,
					    MAP_ANONYMOUS */
			u64 offset;	 /* in the file */
			u32 file;	 /* trace_file.id or 0 */
			/* Not 0: memory that several mappings share, by this number;
			 * `offset` is then the offset in that shared object. Shared
			 * objects begin zeroed; EF_MEM fills them. */
			u32 share;
			const char *name; /* "[stack]", "[heap]", "" or the file's name */
		} map;
		struct {
			u32 prot;
		} protect;
		struct {
			u64 from, from_len;
			u32 flags;
		} remap;
		struct {
			u32 tid, pid; /* the child's */
			bool share;   /* the parent's address space itself */
			const struct regs *regs;
		} fork;
		struct {
			u32 fd;
		} output;
	};
};

struct event {
	u64 number;  /* from 1, without gaps */
	u64 time_ns; /* since the recording began, monotonic */
	u32 tid, pid;
	u8 type;	/* enum event_type */
	u8 where;	/* enum event_where, EV_SIGNAL only */
	bool has_after; /* regs_after is set */
	struct regs regs, regs_after;
	/* Extended state after the event; NULL: unchanged. */
	const u8 *xstate;
	u32 xstate_len;
	/* EV_SIGNAL */
	const siginfo_t *siginfo;
	bool fatal; /* the process dies of it */
	/* EV_SIGNAL at WHERE_POINT, EV_SCHED; owned by the event's holder. */
	struct point point;
	/* EV_EXIT: as wait() would give it. */
	s32 status;
	/* EV_EXEC */
	const char *exe; /* the program's path */
	const u8 *auxv;	 /* as on the stack, AT_SYSINFO_EHDR hidden */
	u32 auxv_len;
	/* EV_SYSCALL, EV_LEAVE, EV_TRAP: for listings, "read", "rdtsc". May be "". */
	const char *what;
	struct effect *effects;
	u32 n_effects;
};

enum sample_kind {
	SAMPLE_USER = 1, /* in user code: regs and print are a point after event */
	SAMPLE_SYSCALL,	 /* inside the system call that is event `event` */
	SAMPLE_BLOCKED,	 /* -e wall: asleep in it; weight counts the ticks */
};

#define SAMPLE_MAX_KERNEL 32

struct sample {
	u64 number; /* from 1, in time order */
	u64 time_ns;
	u32 tid, pid;
	u8 kind;
	u32 weight;	    /* ticks it stands for, 1 but for SAMPLE_BLOCKED */
	struct point point; /* no words, no pages */
	u32 n_kernel;	    /* innermost first */
	u64 kernel[SAMPLE_MAX_KERNEL];
};

enum sampler_kind {
	SAMPLER_NONE,
	SAMPLER_BPF,   /* perf event + bpf/sample.bpf.c */
	SAMPLER_PERF,  /* perf ring with user registers and stack */
	SAMPLER_TIMER, /* a CPU timer and a ptrace stop */
};

/* What is true of the whole recording; written first, ended by trace_end. */
struct trace_meta {
	u32 version;
	u64 start_time_ns; /* CLOCK_REALTIME */
	u32 sample_hz;
	u8 sampler;			       /* enum sampler_kind */
	u8 sample_event;		       /* 0 cpu-clock, 1 wall */
	const char *sampler_why;	       /* why not a better one; "" if BPF */
	const char *program;		       /* first argv, as typed */
	const char *args;		       /* the whole command line, shell quoted */
	const char *cwd, *host, *kernel, *cpu; /* cpu: model name */
	/* XSAVE layout of the recording CPU: XCR0 and the image's size. */
	u64 xcr0;
	u32 xstate_size;
};

struct trace_end {
	bool clean; /* the recorder closed the trace itself */
	s32 status; /* the first process's wait status */
	u64 events, samples, lost;
	u64 time_ns;
	const char *why; /* why recording ended early; "" if it did not */
};

#endif
