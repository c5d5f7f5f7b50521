/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "gdbstub/codec.h"
#include "gdbstub/server.h"
#include "gdbstub/stub.h"

#define QUEUE_MAX_BYTES (4u << 20)

struct item {
	struct item *next;
	enum codec_item kind;
	size_t n;
	u8 body[];
};

struct gdb_server {
	struct gdb_server_opts o;
	char address[128];
	char unix_path[108];
	int listen[2], n_listen;
	int wake; /* eventfd: the reader is to look again */

	pthread_t reader;
	bool reader_runs;
	pthread_mutex_t lock;
	pthread_cond_t more;
	/* Below: under lock. */
	int client; /* -1: none */
	bool hangup, quit;
	struct item *head, **tail;
	size_t queued;
	struct codec codec; /* the reader's */

	bool slow; /* a monitor command runs: gdb waits, but not for long */

	pthread_mutex_t sending;
	volatile bool interrupt;
	struct gdbstub *stub;
	struct wbuf frame; /* the last one sent, for a NAK */
};

/* ---- binding ---- */

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

static int add_listener(struct gdb_server *s, const struct sockaddr *sa, socklen_t len)
{
	int fd = listen_on(sa, len);

	if (fd < 0)
		return fd;
	s->listen[s->n_listen++] = fd;
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

static int try_loopback(struct gdb_server *s, u16 port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int r = add_listener(s, (struct sockaddr *)&v4, sizeof(v4));

	if (r < 0)
		return r;
	v6.sin6_port = htons(bound_port(s->listen[0]));
	r = add_listener(s, (struct sockaddr *)&v6, sizeof(v6));
	if (r == -EADDRINUSE) {
		close(s->listen[--s->n_listen]);
		return r;
	}
	/* Else: a machine without IPv6 is served by IPv4 alone. */
	snprintf(s->address, sizeof(s->address), ":%u", bound_port(s->listen[0]));
	return 0;
}

static int bind_loopback(struct gdb_server *s, u16 port)
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

static int bind_unix(struct gdb_server *s, const char *path)
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
	umask(mask);
	if (r < 0) {
		log_error("cannot listen on %s: %s", path, strerror(-r));
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

static int bind_given(struct gdb_server *s, const char *given)
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
		log_warn("listening on %s%s: whoever reaches it reads the recording", host,
			 colon);
	freeaddrinfo(ai);
	if (!r)
		snprintf(s->address, sizeof(s->address), "%s:%u", host,
			 bound_port(s->listen[0]));
	return r;
}

int gdb_server_open(struct gdb_server **out, const struct gdb_server_opts *o)
{
	struct gdb_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->o = *o;
	s->client = -1;
	s->tail = &s->head;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->sending, NULL);
	pthread_cond_init(&s->more, NULL);
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake < 0)
		r = -errno;
	else if (o->unix_path)
		r = bind_unix(s, o->unix_path);
	else if (o->listen)
		r = bind_given(s, o->listen);
	else
		r = bind_loopback(s, o->port);
	if (r < 0) {
		gdb_server_close(s);
		return r;
	}
	*out = s;
	return 0;
}

const char *gdb_server_address(const struct gdb_server *s)
{
	return s->address;
}

const volatile bool *gdb_server_interrupt(const struct gdb_server *s)
{
	return &s->interrupt;
}

/* ---- the reader ---- */

static void poke(struct gdb_server *s)
{
	u64 one = 1;

	/* It can only fail when the counter is full, and then it is awake. */
	if (write(s->wake, &one, sizeof(one)) < 0)
		return;
}

static void enqueue(struct gdb_server *s, enum codec_item kind)
{
	size_t n = kind == CODEC_PACKET ? s->codec.body.len : 0;
	struct item *it = malloc(sizeof(*it) + n);

	if (!it)
		return;
	*it = (struct item){.kind = kind, .n = n};
	if (n)
		memcpy(it->body, s->codec.body.data, n);
	*s->tail = it;
	s->tail = &it->next;
	s->queued += sizeof(*it) + n;
	if (kind == CODEC_BREAK)
		s->interrupt = true;
	pthread_cond_signal(&s->more);
}

static void send_all(struct gdb_server *s, const void *p, size_t n)
{
	const u8 *at = p;

	pthread_mutex_lock(&s->sending);
	while (n) {
		ssize_t w = send(s->client, at, n, MSG_NOSIGNAL);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0) /* the reader sees the hangup */
			break;
		at += w;
		n -= w;
	}
	pthread_mutex_unlock(&s->sending);
}

static void reader_accept(struct gdb_server *s, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), one = 1;

	if (fd < 0)
		return;
	if (s->client >= 0) {
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	codec_fini(&s->codec);
	s->client = fd;
	s->hangup = false;
	s->interrupt = false;
	pthread_cond_signal(&s->more);
}

static void reader_input(struct gdb_server *s)
{
	u8 buf[16384];
	ssize_t n = recv(s->client, buf, sizeof(buf), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		s->hangup = true;
		s->interrupt = true;
		pthread_cond_signal(&s->more);
		return;
	}
	for (ssize_t i = 0; i < n; i++) {
		enum codec_item kind = codec_feed(&s->codec, buf[i]);

		if (kind != CODEC_NONE && kind != CODEC_ACK)
			enqueue(s, kind);
	}
}

static void *reader_main(void *arg)
{
	struct gdb_server *s = arg;
	bool quit = false;

	while (!quit) {
		struct pollfd p[4];
		int n = 0, client, ready;
		bool slow, leaving;
		u64 count;

		pthread_mutex_lock(&s->lock);
		/* Whoever comes while the last one leaves waits for it. */
		leaving = s->client >= 0 && s->hangup;
		client = s->client >= 0 && !s->hangup && s->queued < QUEUE_MAX_BYTES;
		p[n++] = (struct pollfd){.fd = s->wake, .events = POLLIN};
		for (int i = 0; i < s->n_listen; i++)
			p[n++] = (struct pollfd){.fd = leaving ? -1 : s->listen[i],
						 .events = POLLIN};
		p[n++] = (struct pollfd){.fd = client ? s->client : -1,
					 .events = POLLIN | POLLRDHUP};
		slow = s->slow;
		pthread_mutex_unlock(&s->lock);
		ready = poll(p, n, slow ? 1000 : -1);
		if (ready < 0 && errno != EINTR)
			break;
		pthread_mutex_lock(&s->lock);
		if (!ready && s->slow) /* no text: gdb sees that we live */
			send_all(s, "$O#4f", 5);
		if (p[0].revents && read(s->wake, &count, sizeof(count)) < 0 &&
		    errno != EAGAIN)
			s->quit = true;
		if (client && p[n - 1].revents)
			reader_input(s);
		/* It may have left with much unread: the end is seen before the rest
		 * is. The client is polled after the listeners, so its leaving is
		 * known when a later one's coming is. */
		leaving = s->client >= 0 &&
			  (s->hangup || (p[n - 1].revents & ~(POLLIN | POLLNVAL)));
		for (int i = 0; i < s->n_listen; i++)
			if (p[1 + i].revents && !leaving)
				reader_accept(s, s->listen[i]);
		quit = s->quit;
		pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

static int reader_start(struct gdb_server *s)
{
	sigset_t all, was;
	int r;

	/* Signals are the main thread's; SIGCHLD of tracees among them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	r = pthread_create(&s->reader, NULL, reader_main, s);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	s->reader_runs = !r;
	return -r;
}

/* ---- serving ---- */

/* The next thing the client said, to be freed; NULL: it went. */
static struct item *next_item(struct gdb_server *s)
{
	struct item *it;
	bool brk = false;

	pthread_mutex_lock(&s->lock);
	while (!s->head && !s->hangup)
		pthread_cond_wait(&s->more, &s->lock);
	it = s->head;
	if (it) {
		s->head = it->next;
		if (!s->head)
			s->tail = &s->head;
		s->queued -= sizeof(*it) + it->n;
	}
	/* A Ctrl-C that came after this packet is meant for it; an older one
	 * found nothing running. */
	for (struct item *i = s->head; i; i = i->next)
		brk |= i->kind == CODEC_BREAK;
	s->interrupt = brk || s->hangup;
	pthread_mutex_unlock(&s->lock);
	poke(s);
	return it;
}

static void send_packet(void *ctx, const void *body, size_t n)
{
	struct gdb_server *s = ctx;

	wbuf_reset(&s->frame);
	codec_frame(&s->frame, body, n);
	if (!s->frame.err)
		send_all(s, s->frame.data, s->frame.len);
}

void gdb_server_console(struct gdb_server *s, const void *text, size_t n)
{
	if (s->stub)
		gdbstub_console(s->stub, text, n);
}

static bool wait_client(struct gdb_server *s)
{
	bool there;

	pthread_mutex_lock(&s->lock);
	while (s->client < 0 && !s->quit)
		pthread_cond_wait(&s->more, &s->lock);
	there = s->client >= 0;
	pthread_mutex_unlock(&s->lock);
	return there;
}

static void drop_client(struct gdb_server *s)
{
	struct item *it;

	pthread_mutex_lock(&s->lock);
	close(s->client);
	s->client = -1;
	while ((it = s->head)) {
		s->head = it->next;
		free(it);
	}
	s->tail = &s->head;
	s->queued = 0;
	s->interrupt = false;
	pthread_mutex_unlock(&s->lock);
	poke(s);
}

static bool begins(const struct item *it, const char *name)
{
	return it->n >= strlen(name) && !memcmp(it->body, name, strlen(name));
}

static void set_slow(struct gdb_server *s, bool slow)
{
	pthread_mutex_lock(&s->lock);
	if (s->slow != slow)
		poke(s);
	s->slow = slow;
	pthread_mutex_unlock(&s->lock);
}

/* One packet; true: the connection goes on. *@bye: gdb said it is finished. */
static bool serve_packet(struct gdb_server *s, const struct item *it, bool *ack, bool *bye,
			 struct wbuf *reply)
{
	unsigned answer;

	if (*ack)
		send_all(s, "+", 1);
	set_slow(s, begins(it, "qRcmd"));
	answer = gdbstub_packet(s->stub, it->body, it->n, reply);
	set_slow(s, false);
	/* One that was refused (E..) has not ended anything. */
	if (!reply->len || reply->data[0] != 'E') {
		if (begins(it, "D") || begins(it, "k") || begins(it, "vKill"))
			*bye = true;
		else if (begins(it, "vRun") || begins(it, "vAttach"))
			*bye = false;
	}
	if (answer & GDBSTUB_REPLY)
		send_packet(s, reply->data, reply->len);
	if (answer & GDBSTUB_NOACK)
		*ack = false;
	return !(answer & GDBSTUB_CLOSE);
}

/* All that one client wants. Returns whether it ended the session itself. */
static bool serve_client(struct gdb_server *s)
{
	struct wbuf reply = {0};
	bool ack = true, bye = false, on = true;
	struct item *it;

	while (on && (it = next_item(s))) {
		switch (it->kind) {
		case CODEC_PACKET:
			on = serve_packet(s, it, &ack, &bye, &reply);
			break;
		case CODEC_BAD:
			send_all(s, "-", 1);
			break;
		case CODEC_NAK:
			if (ack && s->frame.len)
				send_all(s, s->frame.data, s->frame.len);
			break;
		default:
			break;
		}
		free(it);
	}
	gdbstub_reset(s->stub);
	drop_client(s);
	wbuf_free(&reply);
	return bye;
}

int gdb_server_run(struct gdb_server *s, const struct gdb_target *t)
{
	int r = gdbstub_new(&s->stub, t, send_packet, s);

	if (!r && !s->reader_runs)
		r = reader_start(s);
	while (!r && wait_client(s)) {
		bool bye = serve_client(s);

		if (s->o.once || (bye && !s->o.keep))
			break;
	}
	gdbstub_free(s->stub);
	s->stub = NULL;
	return r;
}

void gdb_server_close(struct gdb_server *s)
{
	if (!s)
		return;
	if (s->reader_runs) {
		pthread_mutex_lock(&s->lock);
		s->quit = true;
		pthread_mutex_unlock(&s->lock);
		poke(s);
		pthread_join(s->reader, NULL);
	}
	if (s->client >= 0)
		drop_client(s);
	for (int i = 0; i < s->n_listen; i++)
		close(s->listen[i]);
	if (s->unix_path[0])
		unlink(s->unix_path);
	if (s->wake >= 0)
		close(s->wake);
	codec_fini(&s->codec);
	wbuf_free(&s->frame);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->sending);
	pthread_cond_destroy(&s->more);
	free(s);
}
