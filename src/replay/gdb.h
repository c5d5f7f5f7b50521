/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gdb.h - a recording behind the gdb stub: the stub's operations over a
 * timeline, and the monitor commands.
 */
#ifndef PLAYHEAD_GDB_H
#define PLAYHEAD_GDB_H

#include "gdbstub/server.h"
#include "replay/timeline.h"

struct gdb_host;

struct gdb_host_opts {
	u32 pid;	     /* the process served; 0: the first one */
	enum stop_way force; /* see timeline.h */
	/* Interrupts, and text for the user's console. Borrowed. */
	struct gdb_server *server;
};

/* Logs on failure. -ESRCH: the recording has no such process. */
int gdb_host_open(struct gdb_host **out, const char *dir,
		  const struct gdb_host_opts *o) __must_check;
void gdb_host_close(struct gdb_host *h);
const struct gdb_target *gdb_host_target(const struct gdb_host *h);

#endif
