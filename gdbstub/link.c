/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gdbstub/link.h"

/* A pipe that poll() calls writable takes this much at once. */
#define PIPE_PIECE 4096

static bool is_socket(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISSOCK(st.st_mode);
}

/* A peer whose machine or network is gone answers no probes: within a minute
 * the socket fails, and another client is let in. Ignored by unix sockets. */
static void keep_alive(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{IPPROTO_TCP, TCP_NODELAY,   1 },
		 {SOL_SOCKET,  SO_KEEPALIVE,  1 },
		{IPPROTO_TCP, TCP_KEEPIDLE,  20},
		 {IPPROTO_TCP, TCP_KEEPINTVL, 10},
		{IPPROTO_TCP, TCP_KEEPCNT,   4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			   sizeof(options[i].value));
}

void link_open(struct link *l, int fd)
{
	keep_alive(fd);
	*l = (struct link){fd, fd, true};
}

int link_open_stdio(struct link *l)
{
	int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), null, r = 0;

	*l = LINK_NONE;
	if (in < 0)
		return -errno;
	l->in = in;
	l->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (l->out < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		r = -errno;
	if (null >= 0)
		close(null);
	l->socket = is_socket(l->out);
	if (r < 0)
		link_close(l);
	return r;
}

void link_close(struct link *l)
{
	if (l->in >= 0)
		close(l->in);
	if (l->out >= 0 && l->out != l->in)
		close(l->out);
	*l = LINK_NONE;
}

ssize_t link_recv(const struct link *l, void *buf, size_t n)
{
	struct pollfd p = {.fd = l->in, .events = POLLIN};
	ssize_t got;

	if (poll(&p, 1, 0) <= 0)
		return -EAGAIN;
	got = read(l->in, buf, n);
	if (got < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	return got;
}

bool link_takes(const struct link *l)
{
	struct pollfd p = {.fd = l->out, .events = POLLOUT};

	return poll(&p, 1, 0) > 0 && p.revents == POLLOUT;
}

static ssize_t send_piece(const struct link *l, const void *p, size_t n)
{
	ssize_t done;

	if (l->socket)
		done = send(l->out, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	else
		done = write(l->out, p, MIN(n, (size_t)PIPE_PIECE));
	return done < 0 ? -errno : done;
}

int link_send(const struct link *l, const void *p, size_t n, unsigned seconds,
	      const volatile bool *stop)
{
	const u8 *at = p;

	while (n) {
		struct pollfd out = {.fd = l->out, .events = POLLOUT};
		ssize_t done;
		int ready = poll(&out, 1, seconds * 1000);

		if (*stop)
			return -EINTR;
		if (!ready)
			return -ETIMEDOUT;
		done = ready < 0 ? -errno : send_piece(l, at, n);
		if (done == -EINTR || done == -EAGAIN)
			continue;
		if (done <= 0)
			return done < 0 ? done : -EPIPE;
		at += done;
		n -= done;
	}
	return 0;
}
