/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stub.h - packets in, packets out. Knows nothing of sockets: gdbstub_packet()
 * takes the body of one packet and gives the body of the reply.
 */
#ifndef GDBSTUB_STUB_H
#define GDBSTUB_STUB_H

#include "gdbstub/target.h"

struct gdbstub;

/* Sends the body of a packet of its own: "O..." while a reply is awaited. */
typedef void (*gdbstub_send_fn)(void *ctx, const void *body, size_t n);

int gdbstub_new(struct gdbstub **out, const struct gdb_target *t, gdbstub_send_fn send,
		void *ctx) __must_check;
void gdbstub_free(struct gdbstub *s);

/* The client has gone: forget all that it said, take its points out. */
void gdbstub_reset(struct gdbstub *s);

enum gdbstub_answer {
	GDBSTUB_REPLY = 1, /* send what is in reply, even if empty */
	GDBSTUB_NOACK = 2, /* from the next packet on, no + and - */
	GDBSTUB_CLOSE = 4, /* then close the connection */
};

unsigned gdbstub_packet(struct gdbstub *s, const void *body, size_t n, struct wbuf *reply);

/*
 * Text for the user's console, from within an operation: goes out at once if
 * gdb can take it there (it is in resume or a monitor command), else nowhere.
 */
void gdbstub_console(struct gdbstub *s, const void *text, size_t n);

#endif
