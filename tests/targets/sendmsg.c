/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages with a descriptor and credentials in them; datagrams; names of peers. */
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "target.h"

static void send_fd(int s, int fd)
{
	char byte = 'f', ctl[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = ctl,
			   .msg_controllen = sizeof(ctl)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	CHECK(sendmsg(s, &m, 0) == 1);
}

static int receive_fd(int s)
{
	char byte, ctl[CMSG_SPACE(sizeof(int))];
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = ctl,
			   .msg_controllen = sizeof(ctl)};
	int fd;

	CHECK(recvmsg(s, &m, 0) == 1 && byte == 'f');
	CHECK(CMSG_FIRSTHDR(&m) && CMSG_FIRSTHDR(&m)->cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	return fd;
}

static void over_tcp(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0), c, s, on = 1;
	char buf[8];

	CHECK(!setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
	CHECK(!bind(l, (void *)&a, sizeof(a)) && !listen(l, 1));
	CHECK(!getsockname(l, (void *)&a, &len));
	c = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(!connect(c, (void *)&a, sizeof(a)));
	len = sizeof(a);
	CHECK((s = accept4(l, (void *)&a, &len, SOCK_CLOEXEC)) >= 0);
	CHECK(a.sin_family == AF_INET && send(c, "hello", 5, 0) == 5);
	CHECK(recvfrom(s, buf, sizeof(buf), 0, NULL, NULL) == 5 &&
	      !memcmp(buf, "hello", 5));
	len = sizeof(on);
	CHECK(!getsockopt(s, SOL_SOCKET, SO_ERROR, &on, &len) && on == 0);
	close(c);
	CHECK(recv(s, buf, sizeof(buf), 0) == 0);
}

int main(void)
{
	int pair[2], p[2], fd;
	char buf[16];

	CHECK(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	CHECK(!pipe(p));
	CHECK(write(p[1], "through", 7) == 7);
	send_fd(pair[0], p[0]);
	fd = receive_fd(pair[1]);
	CHECK(fd >= 0 && fd != p[0]);
	CHECK(read(fd, buf, sizeof(buf)) == 7 && !memcmp(buf, "through", 7));
	CHECK(send(pair[0], "datagram", 8, 0) == 8);
	CHECK(recv(pair[1], buf, 4, MSG_TRUNC) == 8);
	over_tcp();
	puts("sent");
	return 0;
}
