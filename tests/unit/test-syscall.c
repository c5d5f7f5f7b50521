/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of calls and the engine that reads it, over our own memory. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cmocka.h>

#include "syscall/syscall.h"

struct seen {
	struct {
		int fd; /* -1: written by the call */
		u64 addr, len;
	} v[16];
	int n;
};

static int on_mem(void *ctx, u64 addr, u64 len)
{
	struct seen *s = ctx;

	assert_true(s->n < 16);
	s->v[s->n].fd = -1;
	s->v[s->n].addr = addr;
	s->v[s->n++].len = len;
	return 0;
}

static int on_output(void *ctx, int fd, u64 addr, u64 len)
{
	struct seen *s = ctx;

	on_mem(ctx, addr, len);
	s->v[s->n - 1].fd = fd;
	return 0;
}

static void run(struct seen *s, struct syscall_view *v, s64 ret)
{
	struct syscall_sink sink = {on_mem, on_output, s};
	const struct syscall_info *i = syscall_lookup(v->nr);

	*s = (struct seen){0};
	assert_non_null(i);
	v->tid = getpid();
	v->ret = ret;
	assert_int_equal(syscall_leave(i, v, &sink), 0);
}

#define VIEW(n, ...)                                                                       \
	{                                                                                  \
		.tid = getpid(), .nr = SYS_##n, .arg = { __VA_ARGS__ }                     \
	}

static void names_and_gaps(void **state)
{
	assert_string_equal(syscall_lookup(SYS_read)->name, "read");
	assert_string_equal(syscall_lookup(SYS_openat2)->name, "openat2");
	assert_null(syscall_lookup(-1));
	assert_null(syscall_lookup(400));
	assert_null(syscall_lookup(1 << 20));
}

static void every_row_is_sound(void **state)
{
	int rows = 0;

	for (long nr = 0; nr < 600; nr++) {
		const struct syscall_info *i = syscall_lookup(nr);

		if (!i)
			continue;
		rows++;
		assert_true(i->name[0]);
		assert_true(!(i->flags & SC_DENY) == !i->err);
		for (int k = 0; k < SYSCALL_MAX_RULES; k++) {
			assert_true(i->rules[k].arg < 6 && i->rules[k].arg2 < 6);
			assert_true((i->rules[k].kind == RULE_CALL) ==
				    (i->rules[k].copy != NULL));
		}
	}
	assert_true(rows > 300);
}

static void refusals(void **state)
{
	const u64 none[6] = {0}, sg_io[6] = {0, 0x2285}, winsz[6] = {0, TIOCGWINSZ};

	assert_int_equal(syscall_refused(syscall_lookup(SYS_rseq), SYS_rseq, none),
			 -ENOSYS);
	assert_int_equal(syscall_refused(syscall_lookup(SYS_ptrace), SYS_ptrace, none),
			 -EPERM);
	assert_int_equal(syscall_refused(syscall_lookup(SYS_ioctl), SYS_ioctl, sg_io),
			 -ENOTTY);
	assert_int_equal(syscall_refused(syscall_lookup(SYS_ioctl), SYS_ioctl, winsz), 0);
}

static void blocking(void **state)
{
	const u64 wait[6] = {0, 0x80}, wake[6] = {0, 0x81}, lock[6] = {0, F_SETLKW},
		  get[6] = {0, F_GETFD};

	assert_true(syscall_may_block(syscall_lookup(SYS_read), wait));
	assert_false(syscall_may_block(syscall_lookup(SYS_getpid), wait));
	assert_true(syscall_may_block(syscall_lookup(SYS_futex), wait));
	assert_false(syscall_may_block(syscall_lookup(SYS_futex), wake));
	assert_true(syscall_may_block(syscall_lookup(SYS_fcntl), lock));
	assert_false(syscall_may_block(syscall_lookup(SYS_fcntl), get));
}

static void counted_buffers(void **state)
{
	char buf[64];
	struct syscall_view v = VIEW(read, 3, (u64)buf, sizeof(buf));
	struct seen s;

	run(&s, &v, 10);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.v[0].addr, (u64)buf);
	assert_int_equal(s.v[0].len, 10);
	run(&s, &v, 0);
	assert_int_equal(s.n, 0);
	run(&s, &v, -EAGAIN);
	assert_int_equal(s.n, 0);
}

static void structs_and_nulls(void **state)
{
	struct stat st;
	struct syscall_view v = VIEW(fstat, 0, (u64)&st);
	struct seen s;

	run(&s, &v, 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.v[0].len, sizeof(st));
	v.arg[1] = 0;
	run(&s, &v, -EFAULT);
	assert_int_equal(s.n, 0);
}

static void vectors(void **state)
{
	char a[4], b[8], c[8];
	struct iovec iov[3] = {
		{a, 4},
		{b, 8},
		{c, 8}
	      };
	struct syscall_view v = VIEW(readv, 0, (u64)iov, 3);
	struct seen s;

	run(&s, &v, 7);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.v[0].len, 4);
	assert_int_equal(s.v[1].addr, (u64)b);
	assert_int_equal(s.v[1].len, 3);
	/* Iovecs that cannot be read say nothing. */
	v.arg[1] = 8;
	run(&s, &v, 7);
	assert_int_equal(s.n, 0);
}

static void output(void **state)
{
	char a[4];
	struct iovec iov[1] = {
		{a, 4}
	      };
	struct syscall_view w = VIEW(write, 1, (u64)a, 4),
			    wv = VIEW(writev, 2, (u64)iov, 1);
	struct seen s;

	run(&s, &w, 3);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.v[0].fd, 1);
	assert_int_equal(s.v[0].len, 3);
	run(&s, &wv, 4);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.v[0].fd, 2);
}

/* The kernel says how long the name is, not how much it wrote. */
static void names_cut_short(void **state)
{
	char name[16];
	u32 len = 8;
	struct syscall_view v = VIEW(getsockname, 3, (u64)name, (u64)&len);
	struct seen s;

	syscall_enter(syscall_lookup(v.nr), &v);
	len = 110;
	run(&s, &v, 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.v[0].len, 8);
	assert_int_equal(s.v[1].addr, (u64)&len);
}

static void messages(void **state)
{
	char data[8], control[32], name[16];
	struct iovec iov = {data, sizeof(data)};
	struct msghdr m = {name, 16, &iov, 1, control, 20, 0};
	struct syscall_view v = VIEW(recvmsg, 3, (u64)&m);
	struct seen s;

	run(&s, &v, 5);
	assert_int_equal(s.n, 4);
	assert_int_equal(s.v[0].addr, (u64)&m);
	assert_int_equal(s.v[1].len, 16);
	assert_int_equal(s.v[2].len, 20);
	assert_int_equal(s.v[3].len, 5);
}

static void ioctls(void **state)
{
	char buf[64];
	struct syscall_view v = VIEW(ioctl, 0, TIOCGWINSZ, (u64)buf);
	struct seen s;

	run(&s, &v, 0);
	assert_int_equal(s.v[0].len, 8);
	v.arg[1] = _IOR('x', 1, u64);
	run(&s, &v, 0);
	assert_int_equal(s.v[0].len, 8);
	v.arg[1] = _IOW('x', 1, u64);
	run(&s, &v, 0);
	assert_int_equal(s.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_gaps),  cmocka_unit_test(every_row_is_sound),
		cmocka_unit_test(refusals),	   cmocka_unit_test(blocking),
		cmocka_unit_test(counted_buffers), cmocka_unit_test(structs_and_nulls),
		cmocka_unit_test(vectors),	   cmocka_unit_test(output),
		cmocka_unit_test(names_cut_short), cmocka_unit_test(messages),
		cmocka_unit_test(ioctls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
