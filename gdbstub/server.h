/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * server.h - the stub behind a socket: one client at a time, a second one is
 * refused at once, input never ends the process.
 *
 * A thread of its own reads the socket, so that Ctrl-C, a vanished client and
 * a second client are seen while an operation runs; everything else happens in
 * the thread that calls gdb_server_run(), because ptrace belongs to a thread.
 */
#ifndef GDBSTUB_SERVER_H
#define GDBSTUB_SERVER_H

#include "gdbstub/target.h"

struct gdb_server;

struct gdb_server_opts {
	/* "unix:PATH" (made 0600), "ADDR:PORT", "[ADDR]:PORT"; or NULL: */
	const char *listen;
	u16 port;   /* on 127.0.0.1 and ::1; 0: any free one */
	bool stdio; /* no socket: the one client is at stdin and stdout */
	bool once;  /* end with the first connection */
	bool keep;  /* listen again even after a detach or kill */
	/* A client that takes no bytes for so long is dropped; 0: 30. */
	unsigned send_seconds;
};

/* Bind and listen; logs one line on failure (-EADDRINUSE: which port). */
int gdb_server_open(struct gdb_server **out, const struct gdb_server_opts *o) __must_check;
void gdb_server_close(struct gdb_server *s);

/* What to type after "target extended-remote". */
const char *gdb_server_address(const struct gdb_server *s);
/* True while the operation that runs is to end: Ctrl-C, or the client went. */
const volatile bool *gdb_server_interrupt(const struct gdb_server *s);

/* Serve clients until it is time to end. 0 or -errno. stdio: SIGPIPE is ignored
 * from here on. */
int gdb_server_run(struct gdb_server *s, const struct gdb_target *t) __must_check;

/* For a signal's handler: what runs is interrupted, gdb_server_run() ends. */
void gdb_server_stop(struct gdb_server *s);
/* Do so when one of @sigs comes; when it comes again, it does what it always does.
 * For one server in a process, which is then never closed but at the end. */
void gdb_server_end_by(struct gdb_server *s, const int *sigs, size_t n);

/* gdbstub_console() of the client being served. */
void gdb_server_console(struct gdb_server *s, const void *text, size_t n);

#endif
