/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gdb-host.h - what the files gdb-*.c share. */
#ifndef PLAYHEAD_GDB_HOST_H
#define PLAYHEAD_GDB_HOST_H

#include "replay/gdb.h"

/* One of the stub's points: a watched range may need several of ours. */
#define HOST_PIECES 4

struct host_point {
	struct host_point *next;
	struct gdb_host *h;
	struct gdb_point p;
	int id;
	unsigned n;
	int ids[HOST_PIECES];
};

/* Addresses of libc's descriptions of its own structures, see gdb-tls.c. */
#define HOST_SYMBOLS 5

struct gdb_host {
	struct timeline *t;
	struct trace_reader *r;
	struct gdb_server *server;
	struct gdb_target target;
	u32 pid;
	u64 begin; /* the event at which the first program stands ready */

	struct host_point *points;
	int last_point;

	/* The diversion: how the thread stood when it began, and whether memory was
	 * written since the last call of a function ended. */
	u32 div_tid;
	struct regs div_regs;
	bool div_written, div_ran;
	bool div_jumped; /* rip was set: a breakpoint there was not seen yet */

	bool show_output, show_progress;
	u64 progress_ns;
	bool told_end; /* the end of the log was reported */
	u64 end_event; /* the last one with a thread of pid alive; 0: not looked */
	s32 end_status;

	/* The sample last gone to, and which way the present has left it. */
	u64 sample;
	int sample_dir;

	struct names *names;
	u64 symbols[HOST_SYMBOLS];
};

/* Text for the console, at once. */
void host_say(struct gdb_host *h, const char *fmt, ...) __printf_like(2, 3);
/* The present thread, of the served process if it has any. */
void host_present(void *ctx, struct gdb_thread *th);
/* Leave the diversion, if any; the user is told. */
int host_rejoin(struct gdb_host *h) __must_check;

/* gdb-points.c */
int host_insert(void *ctx, const struct gdb_point *p, int *id);
int host_remove(void *ctx, int id);
struct host_point *host_point_of(struct gdb_host *h, int timeline_id);
/* The breakpoint at the present place whose condition holds, or NULL. */
struct host_point *host_point_here(struct gdb_host *h);
/* A read watchpoint stopped: did the instruction read what is watched? 1 or 0. */
int host_was_read(struct gdb_host *h, const struct host_point *p, bool backwards);

/* gdb-resume.c */
int host_resume(void *ctx, const struct gdb_resume *r, struct gdb_stop *stop);
int host_restart(void *ctx, struct gdb_stop *stop);

/* gdb-divert.c */
int host_set_gprs(void *ctx, u32 tid, const u64 gpr[GDB_GPRS]);
int host_set_xsave(void *ctx, u32 tid, const void *buf, size_t len);
int host_write(void *ctx, u64 addr, const void *buf, size_t n);
/* Before running on: 1: it is the copy that runs; 0: the recording. */
int host_divert_resume(struct gdb_host *h, bool backwards) __must_check;

/* gdb-files.c */
int host_object(void *ctx, enum gdb_object o, struct wbuf *out);
int host_open(void *ctx, const char *path, struct gdb_file *f);
int host_readlink(void *ctx, const char *path, struct wbuf *out);

/* gdb-tls.c */
extern const char *const host_symbols[HOST_SYMBOLS + 1];
void host_symbol(void *ctx, size_t i, u64 addr);
int host_tls(void *ctx, u32 tid, u64 offset, u64 lm, u64 *addr);

/* gdb-monitor.c */
extern const struct gdb_monitor host_monitor[];

#endif
