/* SPDX-License-Identifier: GPL-3.0-or-later */
/* listen.h - the sockets that clients come to. */
#ifndef GDBSTUB_LISTEN_H
#define GDBSTUB_LISTEN_H

#include "gdbstub/server.h"

struct listeners {
	int fd[2], n;
	char address[128];   /* what to type after "target extended-remote" */
	char unix_path[108]; /* "": none; removed by listeners_close() */
};

/* @s is zeroed. Logs one line on failure; close it then, too. */
int listeners_open(struct listeners *s, const struct gdb_server_opts *o) __must_check;
void listeners_close(struct listeners *s);

#endif
