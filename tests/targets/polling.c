/* SPDX-License-Identifier: GPL-3.0-or-later */
/* poll, select, epoll, eventfd and timerfd over a socket pair. */
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include "target.h"

static int pair[2], event;

static void *talk(void *arg)
{
	uint64_t one = 1;

	for (int i = 0; i < 30; i++) {
		CHECK(write(pair[1], "ping", 4) == 4);
		if (i % 3 == 0)
			CHECK(write(event, &one, sizeof(one)) == sizeof(one));
		usleep(200);
	}
	CHECK(!shutdown(pair[1], SHUT_WR));
	return NULL;
}

static void wait_by_epoll(int timer)
{
	int fds[] = {pair[0], event, timer}, ep = epoll_create1(0);
	long bytes = 0, events = 0, ticks = 0;
	struct epoll_event got[4];
	uint64_t value;
	char buf[64];

	for (int i = 0; i < 3; i++) {
		struct epoll_event e = {.events = EPOLLIN, .data.u64 = i};

		CHECK(!epoll_ctl(ep, EPOLL_CTL_ADD, fds[i], &e));
	}
	for (int open = 1; open || events < 10;) {
		int n = epoll_wait(ep, got, 4, -1);

		CHECK(n > 0);
		for (int i = 0; i < n; i++) {
			if (got[i].data.u64) {
				CHECK(read(fds[got[i].data.u64], &value, 8) == 8);
				*(got[i].data.u64 == 1 ? &events : &ticks) += value;
				continue;
			}
			ssize_t r = read(pair[0], buf, sizeof(buf));

			CHECK(r >= 0);
			bytes += r;
			if (!r) {
				open = 0;
				CHECK(!epoll_ctl(ep, EPOLL_CTL_DEL, pair[0], NULL));
			}
		}
	}
	CHECK(bytes == 120 && events == 10 && ticks >= 1);
	close(ep);
}

int main(void)
{
	struct itimerspec every = {
		{0, 1000000},
		      {0, 1000000}
	  };
	struct timeval tv = {.tv_usec = 1000};
	struct pollfd p;
	int timer;
	pthread_t t;
	fd_set set;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CHECK((event = eventfd(0, 0)) >= 0);
	CHECK((timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) >= 0);
	CHECK(!timerfd_settime(timer, 0, &every, NULL));
	p = (struct pollfd){.fd = pair[0], .events = POLLIN};
	CHECK(poll(&p, 1, 2) == 0);
	FD_ZERO(&set);
	FD_SET(pair[0], &set);
	CHECK(select(pair[0] + 1, &set, NULL, NULL, &tv) == 0 && !FD_ISSET(pair[0], &set));
	CHECK(!pthread_create(&t, NULL, talk, NULL));
	p.revents = 0;
	CHECK(poll(&p, 1, -1) == 1 && (p.revents & POLLIN));
	FD_SET(pair[0], &set);
	CHECK(select(pair[0] + 1, &set, NULL, NULL, NULL) == 1);
	wait_by_epoll(timer);
	pthread_join(t, NULL);
	puts("polled");
	return 0;
}
