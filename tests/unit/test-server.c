/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gdb server's sockets, with a fake machine behind: clients that misbehave. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "gdbstub/server.h"
#include "tests/unit/fake-target.h"

struct fixture {
	struct fake fake;
	char path[64], listen[80];
	struct gdb_server *server;
	pthread_t runs;
};

static void *run(void *arg)
{
	struct fixture *f = arg;

	return gdb_server_run(f->server, &f->fake.target) ? f : NULL;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct gdb_server_opts o = {.send_seconds = 1};

	log_set_level(LOG_SILENT);
	fake_init(&f->fake);
	snprintf(f->path, sizeof(f->path), "/tmp/playhead-test-server.%d", getpid());
	snprintf(f->listen, sizeof(f->listen), "unix:%s", f->path);
	o.listen = f->listen;
	if (gdb_server_open(&f->server, &o) < 0 ||
	    pthread_create(&f->runs, NULL, run, f) != 0)
		return -1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	void *failed;

	gdb_server_stop(f->server);
	pthread_join(f->runs, &failed);
	gdb_server_close(f->server);
	if (failed || !access(f->path, F_OK))
		return -1;
	free(f);
	return 0;
}

static int client(struct fixture *f)
{
	struct timeval limit = {.tv_sec = 10};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(un.sun_path, f->path, sizeof(f->path));
	assert_int_equal(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

static void expect_answer(int fd)
{
	char c[4] = "";

	assert_int_equal(send(fd, "$?#3f", 5, MSG_NOSIGNAL), 5);
	assert_int_equal(recv(fd, c, 3, MSG_WAITALL), 3);
	assert_string_equal(c, "+$T");
}

static void answers(void **state)
{
	int fd = client(*state);

	expect_answer(fd);
	close(fd);
}

/* It asks and asks and takes no answer: it is dropped, another is served. */
static void drops_a_client_that_never_reads(void **state)
{
	struct fixture *f = *state;
	struct timeval limit = {.tv_sec = 4};
	int fd = client(f), other;
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	do
		n = send(fd, "$m1000,1000#1b", 14, MSG_NOSIGNAL);
	while (n > 0);
	assert_true(errno == EPIPE || errno == ECONNRESET);
	other = client(f);
	expect_answer(other);
	close(other);
	close(fd);
}

static void refuses_a_second_client(void **state)
{
	struct fixture *f = *state;
	int first = client(f), second;
	char c;

	expect_answer(first);
	second = client(f);
	assert_int_equal(recv(second, &c, 1, 0), 0);
	close(second);
	close(first);
}

/* Ended while a client is there and silent; teardown waits for it. */
static void stops_with_a_client(void **state)
{
	int fd = client(*state);
	char c;

	expect_answer(fd);
	gdb_server_stop(((struct fixture *)*state)->server);
	while (recv(fd, &c, 1, 0) > 0)
		;
	assert_int_equal(recv(fd, &c, 1, 0), 0);
	close(fd);
}

#define D(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		D(answers),
		D(drops_a_client_that_never_reads),
		D(refuses_a_second_client),
		D(stops_with_a_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
