/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * target.h - the operations that a host supplies to the stub.
 *
 * The stub serves one process of an x86-64 Linux program that can run
 * backwards. Unless it says otherwise an operation returns 0 or -errno, and
 * -errno becomes gdb's "E nn". Only `threads`, `present`, `get_gprs`, `read`
 * and `resume` must be there; gdb is told that the others are not had.
 */
#ifndef GDBSTUB_TARGET_H
#define GDBSTUB_TARGET_H

#include "base/buf.h"

/* ---- registers ---- */

/* gdb's core order: rax rbx rcx rdx rsi rdi rbp rsp r8..r15 rip eflags, then
 * fs_base gs_base orig_rax. */
enum { GDB_RSP = 7, GDB_RBP = 6, GDB_RIP = 16, GDB_GPRS = 21 };

#define GDB_XSAVE_MAX	     16384
#define GDB_XSAVE_COMPONENTS 20

/* The XSAVE image of the CPU that the program ran on: which components, where. */
struct gdb_xsave {
	u64 xcr0; /* 0: no image, the extended registers are not had */
	u32 size;
	u32 offset[GDB_XSAVE_COMPONENTS];
};

/* ---- stops ---- */

enum gdb_stop_kind {
	GDB_STOP_SIGNAL, /* sig (Linux number); 0: just standing there */
	GDB_STOP_STEP,
	GDB_STOP_BREAK,	 /* hw says which kind; rip is the breakpoint's */
	GDB_STOP_WATCH,	 /* addr, watch */
	GDB_STOP_BEGIN,	 /* of the recorded history */
	GDB_STOP_END,	 /* of it */
	GDB_STOP_EXITED, /* status: the exit code */
	GDB_STOP_KILLED, /* sig */
	GDB_STOP_INTERRUPTED,
};

enum gdb_point_type {
	GDB_POINT_SW,
	GDB_POINT_HW,
	GDB_POINT_WRITE,
	GDB_POINT_READ,
	GDB_POINT_ACCESS,
	NR_GDB_POINT_TYPES
};

struct gdb_stop {
	enum gdb_stop_kind kind;
	u32 pid, tid;
	int sig;
	int status;
	bool hw;
	enum gdb_point_type watch;
	u64 addr;
};

struct gdb_point {
	enum gdb_point_type type;
	u64 addr;
	u32 len;
	/* Asked at each hit, with the hit as the present: true: stop. May be NULL. */
	bool (*cond)(void *arg);
	void *arg;
};

struct gdb_resume {
	bool step, backwards;
	u32 tid;		    /* the thread to step; 0: the present one */
	u64 range_start, range_end; /* step on while rip is inside; both 0: none */
	/* By Linux number: signals that are not to be reported. */
	u64 pass_signals;
};

struct gdb_thread {
	u32 pid, tid;
};

/* ---- objects and files ---- */

enum gdb_object {
	GDB_AUXV,
	GDB_EXEC_FILE, /* the path, no NUL */
	GDB_SIGINFO,   /* siginfo_t; -ENODATA if the stop is no signal */
};

struct gdb_stat {
	u32 dev, ino, mode;
	u64 size;
};

struct gdb_file {
	int fd; /* -1: content is in mem */
	struct wbuf mem;
	struct gdb_stat st;
};

/* ---- monitor commands ---- */

struct gdb_monitor {
	const char *name; /* "samples top" */
	const char *args; /* "[N]" */
	const char *help; /* one line */
	/*
	 * @args is what follows the name, blanks trimmed. Text for the user goes
	 * to @out. -errno makes the command fail in gdb; the text is shown before.
	 */
	int (*run)(void *ctx, const char *args, struct wbuf *out);
};

struct gdb_target {
	void *ctx;
	struct gdb_xsave xsave;
	const struct gdb_monitor *monitor; /* ended by a NULL name */
	/* Symbols that the host wants to know the addresses of. NULL-ended. */
	const char *const *symbols;

	/* Threads of the served process; how many there are, @n at most filled. */
	size_t (*threads)(void *ctx, struct gdb_thread *v, size_t n);
	/* The thread that last ran. tid 0: there is no process (any more). */
	void (*present)(void *ctx, struct gdb_thread *t);
	int (*thread_name)(void *ctx, u32 tid, char *out, size_t n);

	int (*get_gprs)(void *ctx, u32 tid, u64 gpr[GDB_GPRS]);
	int (*set_gprs)(void *ctx, u32 tid, const u64 gpr[GDB_GPRS]);
	/* *@len: room in, bytes out. */
	int (*get_xsave)(void *ctx, u32 tid, void *buf, size_t *len);
	int (*set_xsave)(void *ctx, u32 tid, const void *buf, size_t len);

	/* How many bytes from @addr could be read: 0..@n. */
	size_t (*read)(void *ctx, u64 addr, void *buf, size_t n);
	int (*write)(void *ctx, u64 addr, const void *buf, size_t n);

	/* *@id gets a number for remove(). -ENOSPC: no more of that kind. */
	int (*insert)(void *ctx, const struct gdb_point *p, int *id);
	int (*remove)(void *ctx, int id);

	int (*resume)(void *ctx, const struct gdb_resume *r, struct gdb_stop *stop);
	/* Back to the first instruction, points kept; *@stop is where. */
	int (*restart)(void *ctx, struct gdb_stop *stop);
	/* A client has gone (detach, kill, or it vanished). */
	void (*released)(void *ctx);

	int (*object)(void *ctx, enum gdb_object o, struct wbuf *out);
	int (*open)(void *ctx, const char *path, struct gdb_file *f);
	int (*readlink)(void *ctx, const char *path, struct wbuf *out);

	/* Address of symbols[i], as gdb knows it; 0: it has none. */
	void (*symbol)(void *ctx, size_t i, u64 addr);
	int (*tls)(void *ctx, u32 tid, u64 offset, u64 lm, u64 *addr);
};

#endif
