/* SPDX-License-Identifier: GPL-3.0-or-later */
/* private.h - what the files of the stub share. */
#ifndef GDBSTUB_PRIVATE_H
#define GDBSTUB_PRIVATE_H

#include "gdbstub/codec.h"
#include "gdbstub/regs.h"
#include "gdbstub/stub.h"

#define STUB_MAX_FILES 16
/* Of an object or file in one reply: escaping at most doubles it. */
#define READ_PIECE_MAX ((GDB_PACKET_MAX - 64) / 2)

/* One Z packet's point, with its conditions. */
struct zpoint {
	struct zpoint *next;
	struct gdbstub *stub;
	struct gdb_point p;
	int id;
	size_t n_conds;
	struct zcond {
		u32 start, len; /* in code */
	} * conds;
	struct wbuf code;
};

/* All that a client has told us; zeroed for the next one. */
struct client {
	bool multi, swbreak, hwbreak, extended;
	struct gdb_tid g, c; /* Hg, Hc */
	u64 pass_signals;
	struct zpoint *points;
	struct gdb_file *files[STUB_MAX_FILES];
	size_t symbol_asked; /* 1 + index of the symbol last asked for */
	bool gone;	     /* exit reported, killed or detached */
	struct gdb_stop last;
};

struct gdbstub {
	const struct gdb_target *t;
	struct reg_table regs;
	gdbstub_send_fn send;
	void *send_ctx;
	bool console; /* O packets may be sent now */
	struct client cl;
	/* The object being read by qXfer, kept between its pieces. */
	struct wbuf xfer;
	char xfer_name[32];
	struct wbuf text; /* of a monitor command */
	struct reg_image img;
	unsigned answer; /* enum gdbstub_answer, of this packet */
};

/* What the schema of a packet found. */
struct args {
	u64 n[4];
	unsigned count;
	char c;
	struct gdb_tid tid;
	struct wbuf bytes;
	struct scan annex, rest;
};

/* 0: @out is the reply. -ENOSYS: not supported. -errno: E nn. */
typedef int (*packet_fn)(struct gdbstub *s, struct args *a, struct wbuf *out);

struct packet {
	const char *name;
	const char *schema;
	packet_fn fn;
};

extern const struct packet packets[]; /* ended by a NULL name */

/* The thread that a register or memory packet means; 0: there is none. */
u32 stub_thread(struct gdbstub *s);
bool stub_alive(struct gdbstub *s);
void put_ok(struct wbuf *out);

/* points.c */
void points_clear(struct gdbstub *s);
int pk_insert(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_remove(struct gdbstub *s, struct args *a, struct wbuf *out);

/* resume.c */
void put_stop(struct gdbstub *s, const struct gdb_stop *st, struct wbuf *out);
int pk_why(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_vcont_query(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_vcont(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_continue(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_step(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_back_step(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_back_continue(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_run(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_restart(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_attach(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_kill(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_kill_all(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_detach(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_pass_signals(struct gdbstub *s, struct args *a, struct wbuf *out);

/* state.c: registers, memory, threads */
int pk_get_regs(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_set_regs(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_get_reg(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_set_reg(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_read(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_read_binary(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_write(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_search(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_set_thread(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_thread_alive(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_present(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_threads_first(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_threads_next(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_thread_info(struct gdbstub *s, struct args *a, struct wbuf *out);
int state_load(struct gdbstub *s, u32 tid, bool xsave);
struct gdb_thread *state_threads(struct gdbstub *s, size_t *n);

/* query.c: what is supported, objects, symbols, monitor */
int pk_supported(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_no_ack(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_non_stop(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_extended(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_attached(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_symbol(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_tls(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_monitor(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_xfer_features(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_xfer_auxv(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_xfer_exec_file(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_xfer_siginfo(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_xfer_siginfo_write(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_xfer_threads(struct gdbstub *s, struct args *a, struct wbuf *out);

/* vfile.c */
void files_close(struct gdbstub *s);
int pk_file_setfs(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_file_open(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_file_pread(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_file_close(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_file_fstat(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_file_readlink(struct gdbstub *s, struct args *a, struct wbuf *out);
int pk_file_refuse(struct gdbstub *s, struct args *a, struct wbuf *out);

#endif
