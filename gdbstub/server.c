/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "gdbstub/codec.h"
#include "gdbstub/link.h"
#include "gdbstub/listen.h"
#include "gdbstub/server.h"
#include "gdbstub/stub.h"

#define QUEUE_MAX_BYTES (4u << 20)
#define SEND_SECONDS	30

struct item {
	struct item *next;
	enum codec_item kind;
	size_t n;
	u8 body[];
};

struct gdb_server {
	struct gdb_server_opts o;
	struct listeners at;
	int wake; /* eventfd: the reader is to look again */

	pthread_t reader;
	bool reader_runs;
	pthread_mutex_t lock;
	pthread_cond_t more;
	/* Below: under lock. */
	struct link client;
	bool hangup; /* it says no more; what it said is still answered */
	bool quit;
	struct item *head, **tail;
	size_t queued;
	struct codec codec; /* the reader's */

	bool slow; /* a monitor command runs: gdb waits, but not for long */

	pthread_mutex_t sending;
	bool broken; /* under sending: nothing can be sent any more */
	volatile bool interrupt, stop;
	struct gdbstub *stub;
	struct wbuf frame; /* the last one sent, for a NAK */
};

int gdb_server_open(struct gdb_server **out, const struct gdb_server_opts *o)
{
	struct gdb_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->o = *o;
	s->client = LINK_NONE;
	s->tail = &s->head;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->sending, NULL);
	pthread_cond_init(&s->more, NULL);
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!s->o.send_seconds)
		s->o.send_seconds = SEND_SECONDS;
	if (s->wake < 0)
		r = -errno;
	else if (o->stdio)
		r = link_open_stdio(&s->client);
	else
		r = listeners_open(&s->at, o);
	if (r < 0) {
		gdb_server_close(s);
		return r;
	}
	*out = s;
	return 0;
}

const char *gdb_server_address(const struct gdb_server *s)
{
	return s->at.address;
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

/* One that takes nothing is as good as gone. */
static void send_all(struct gdb_server *s, const void *p, size_t n)
{
	int r = 0;

	pthread_mutex_lock(&s->sending);
	if (!s->broken)
		r = link_send(&s->client, p, n, s->o.send_seconds, &s->stop);
	s->broken |= r < 0;
	pthread_mutex_unlock(&s->sending);
	if (!r)
		return;
	if (r == -ETIMEDOUT)
		log_warn("gdb takes nothing for %u s: dropped", s->o.send_seconds);
	pthread_mutex_lock(&s->lock);
	s->hangup = s->interrupt = true;
	pthread_mutex_unlock(&s->lock);
}

/* No text: gdb sees that we live. In the reader, which never waits. */
static void reader_sign(struct gdb_server *s)
{
	if (pthread_mutex_trylock(&s->sending))
		return;
	if (!s->broken && link_takes(&s->client))
		s->broken = link_send(&s->client, "$O#4f", 5, 0, &s->stop) < 0;
	pthread_mutex_unlock(&s->sending);
}

static void reader_accept(struct gdb_server *s, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (s->client.in >= 0) {
		close(fd);
		return;
	}
	codec_fini(&s->codec);
	link_open(&s->client, fd);
	s->broken = false;
	s->hangup = false;
	s->interrupt = false;
	pthread_cond_signal(&s->more);
}

static void reader_input(struct gdb_server *s)
{
	u8 buf[16384];
	ssize_t n = link_recv(&s->client, buf, sizeof(buf));

	if (n == -EAGAIN)
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

/* One look at everything that may have happened. */
static void reader_look(struct gdb_server *s, const struct pollfd *p, int n, bool client)
{
	bool leaving;
	u64 count;

	if (p[0].revents && read(s->wake, &count, sizeof(count)) < 0 && errno != EAGAIN)
		s->quit = true;
	if (s->stop) {
		s->quit = s->hangup = s->interrupt = true;
		pthread_cond_signal(&s->more);
	}
	if (client && p[n - 1].revents)
		reader_input(s);
	/* It may have left with much unread: the end is seen before the rest is. The
	 * client is polled after the listeners, so its leaving is known when a later
	 * one's coming is. */
	leaving = s->client.in >= 0 &&
		  (s->hangup || (p[n - 1].revents & ~(POLLIN | POLLNVAL)));
	for (int i = 0; i < s->at.n; i++)
		if (p[1 + i].revents && !leaving)
			reader_accept(s, s->at.fd[i]);
}

static void *reader_main(void *arg)
{
	struct gdb_server *s = arg;
	bool quit = false;

	while (!quit) {
		struct pollfd p[4];
		int n = 0, ready;
		bool slow, leaving, client;

		pthread_mutex_lock(&s->lock);
		/* Whoever comes while the last one leaves waits for it. */
		leaving = s->client.in >= 0 && s->hangup;
		client = s->client.in >= 0 && !s->hangup && s->queued < QUEUE_MAX_BYTES;
		p[n++] = (struct pollfd){.fd = s->wake, .events = POLLIN};
		for (int i = 0; i < s->at.n; i++)
			p[n++] = (struct pollfd){.fd = leaving ? -1 : s->at.fd[i],
						 .events = POLLIN};
		p[n++] = (struct pollfd){.fd = client ? s->client.in : -1,
					 .events = POLLIN | POLLRDHUP};
		slow = s->slow;
		pthread_mutex_unlock(&s->lock);
		ready = poll(p, n, slow ? 1000 : -1);
		if (ready < 0 && errno != EINTR)
			break;
		pthread_mutex_lock(&s->lock);
		if (!ready && s->slow)
			reader_sign(s);
		reader_look(s, p, n, client);
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
	s->interrupt = brk || s->hangup || s->stop;
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

void gdb_server_stop(struct gdb_server *s)
{
	s->stop = s->interrupt = true;
	poke(s);
}

static struct gdb_server *to_stop;

static void on_signal(int sig)
{
	int was = errno;

	(void)sig;
	gdb_server_stop(to_stop);
	errno = was;
}

void gdb_server_end_by(struct gdb_server *s, const int *sigs, size_t n)
{
	struct sigaction sa = {.sa_handler = on_signal,
			       .sa_flags = SA_RESTART | SA_RESETHAND};

	to_stop = s;
	for (size_t i = 0; i < n; i++)
		sigaction(sigs[i], &sa, NULL);
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
	while (s->client.in < 0 && !s->quit)
		pthread_cond_wait(&s->more, &s->lock);
	there = s->client.in >= 0 && !s->quit;
	pthread_mutex_unlock(&s->lock);
	return there;
}

static void drop_client(struct gdb_server *s)
{
	struct item *it;

	pthread_mutex_lock(&s->lock);
	link_close(&s->client);
	while ((it = s->head)) {
		s->head = it->next;
		free(it);
	}
	s->tail = &s->head;
	s->queued = 0;
	s->interrupt = s->stop;
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

	while (on && !s->broken && (it = next_item(s))) {
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

	if (s->o.stdio)
		signal(SIGPIPE, SIG_IGN);
	if (!r && !s->reader_runs)
		r = reader_start(s);
	while (!r && wait_client(s)) {
		bool bye = serve_client(s);

		if (s->o.once || s->o.stdio || s->stop || (bye && !s->o.keep))
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
	if (s->client.in >= 0)
		drop_client(s);
	listeners_close(&s->at);
	if (s->wake >= 0)
		close(s->wake);
	codec_fini(&s->codec);
	wbuf_free(&s->frame);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->sending);
	pthread_cond_destroy(&s->more);
	free(s);
}
