/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * link.h - the bytes from and to one client, over a socket or two pipes. No
 * call waits for ever: a client may be stopped, or gone without a word.
 */
#ifndef GDBSTUB_LINK_H
#define GDBSTUB_LINK_H

#include <sys/types.h>

#include "base/base.h"

struct link {
	int in, out; /* the same one for a socket; -1: nobody */
	bool socket;
};

#define LINK_NONE ((struct link){-1, -1, false})

/* Take over @fd, just accepted. */
void link_open(struct link *l, int fd);
/* Take over stdin and stdout; what else prints there goes to stderr. -errno. */
int link_open_stdio(struct link *l) __must_check;
void link_close(struct link *l);

/* 0: the end. -EAGAIN: nothing now. -errno. */
ssize_t link_recv(const struct link *l, void *buf, size_t n);
/*
 * Send all. -ETIMEDOUT: nothing was taken for @seconds; -EINTR: *@stop became
 * true while it waited (a signal ends the waiting); -EPIPE and the like.
 */
int link_send(const struct link *l, const void *p, size_t n, unsigned seconds,
	      const volatile bool *stop) __must_check;
/* Would a few bytes go at once? */
bool link_takes(const struct link *l);

#endif
