/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "gdbstub/listen.h"

static int listen_on(const struct sockaddr *sa, socklen_t len)
{
	int one = 1, r, fd;

	fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (sa->sa_family != AF_UNIX)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (sa->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, sa, len) < 0 || listen(fd, 8) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

static int add_listener(struct listeners *s, const struct sockaddr *sa, socklen_t len)
{
	int fd = listen_on(sa, len);

	if (fd < 0)
		return fd;
	s->fd[s->n++] = fd;
	return 0;
}

static u16 bound_port(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0)
		return 0;
	if (ss.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&ss)->sin6_port);
	return ntohs(((struct sockaddr_in *)&ss)->sin_port);
}

static int try_loopback(struct listeners *s, u16 port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int r = add_listener(s, (struct sockaddr *)&v4, sizeof(v4));

	if (r < 0)
		return r;
	v6.sin6_port = htons(bound_port(s->fd[0]));
	r = add_listener(s, (struct sockaddr *)&v6, sizeof(v6));
	if (r == -EADDRINUSE) {
		close(s->fd[--s->n]);
		return r;
	}
	/* Else: a machine without IPv6 is served by IPv4 alone. */
	snprintf(s->address, sizeof(s->address), ":%u", bound_port(s->fd[0]));
	return 0;
}

static int bind_loopback(struct listeners *s, u16 port)
{
	int r = try_loopback(s, port);

	/* A port that the kernel chose for IPv4 may be taken for IPv6. */
	for (int i = 0; i < 16 && !port && r == -EADDRINUSE; i++)
		r = try_loopback(s, port);
	if (r == -EADDRINUSE)
		log_error("port %u is in use; choose another with --port, or --port 0 "
			  "for any",
			  port);
	else if (r < 0)
		log_error("cannot listen on port %u: %s", port, strerror(-r));
	return r;
}

/* A socket that nobody listens at any more: its server was killed. */
static bool is_deserted(const struct sockaddr_un *un)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool refused;

	if (fd < 0)
		return false;
	refused = connect(fd, (const struct sockaddr *)un, sizeof(*un)) < 0 &&
		  errno == ECONNREFUSED;
	close(fd);
	return refused;
}

static int bind_unix(struct listeners *s, const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	mode_t mask;
	int r;

	if (strlen(path) >= sizeof(un.sun_path)) {
		log_error("%s: too long for a socket's name", path);
		return -ENAMETOOLONG;
	}
	memcpy(un.sun_path, path, strlen(path) + 1);
	mask = umask(0177);
	r = add_listener(s, (struct sockaddr *)&un, sizeof(un));
	if (r == -EADDRINUSE && is_deserted(&un) && !unlink(path))
		r = add_listener(s, (struct sockaddr *)&un, sizeof(un));
	umask(mask);
	if (r < 0) {
		log_error(r == -EADDRINUSE ? "%s is in use; choose another name"
					   : "cannot listen on %s: %s",
			  path, strerror(-r));
		return r;
	}
	memcpy(s->unix_path, un.sun_path, sizeof(s->unix_path));
	snprintf(s->address, sizeof(s->address), "%s", path);
	return 0;
}

static bool is_loopback(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)sa)->sin_addr.s_addr) >> 24 ==
		       127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)sa)->sin6_addr);
}

static int bind_given(struct listeners *s, const char *given)
{
	struct addrinfo hint = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM}, *ai;
	char host[96];
	const char *colon = strrchr(given, ':');
	size_t n = colon ? (size_t)(colon - given) : 0;
	int r;

	if (!colon || n >= sizeof(host)) {
		log_error("%s: not an ADDR:PORT to listen on", given);
		return -EINVAL;
	}
	if (n >= 2 && given[0] == '[' && given[n - 1] == ']') {
		given++;
		n -= 2;
	}
	memcpy(host, given, n);
	host[n] = 0;
	r = getaddrinfo(n ? host : NULL, colon + 1, &hint, &ai);
	if (r) {
		log_error("%s:%s: %s", host, colon + 1, gai_strerror(r));
		return -EINVAL;
	}
	r = add_listener(s, ai->ai_addr, ai->ai_addrlen);
	if (r < 0)
		log_error("cannot listen on %s%s: %s", host, colon, strerror(-r));
	else if (!is_loopback(ai->ai_addr))
		log_warn("listening on %s%s: whoever reaches it reads all that the "
			 "recorded program did, unasked for a password",
			 host, colon);
	freeaddrinfo(ai);
	if (!r)
		snprintf(s->address, sizeof(s->address), "%s:%u", host,
			 bound_port(s->fd[0]));
	return r;
}

int listeners_open(struct listeners *s, const struct gdb_server_opts *o)
{
	if (o->listen && !strncmp(o->listen, "unix:", 5))
		return bind_unix(s, o->listen + 5);
	if (o->listen)
		return bind_given(s, o->listen);
	return bind_loopback(s, o->port);
}

void listeners_close(struct listeners *s)
{
	while (s->n)
		close(s->fd[--s->n]);
	if (s->unix_path[0])
		unlink(s->unix_path);
	s->unix_path[0] = 0;
}
