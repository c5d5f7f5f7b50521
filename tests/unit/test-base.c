/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Buffers and messages. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/log.h"

static void numbers_come_back(void **state)
{
	static const u64 v[] = {0, 1, 127, 128, 16383, 16384, 1UL << 35, 1UL << 63, ~0UL};
	struct wbuf w = {0};
	struct rbuf r;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		wbuf_u8(&w, v[i]);
		wbuf_u16(&w, v[i]);
		wbuf_u32(&w, v[i]);
		wbuf_u64(&w, v[i]);
		wbuf_var(&w, v[i]);
	}
	assert_int_equal(w.err, 0);
	r = rbuf_of(w.data, w.len);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		assert_int_equal(rbuf_u8(&r), (u8)v[i]);
		assert_int_equal(rbuf_u16(&r), (u16)v[i]);
		assert_int_equal(rbuf_u32(&r), (u32)v[i]);
		assert_int_equal(rbuf_u64(&r), v[i]);
		assert_int_equal(rbuf_var(&r), v[i]);
	}
	assert_int_equal(r.err, 0);
	assert_int_equal(rbuf_left(&r), 0);
	wbuf_free(&w);
}

static void var_takes_as_few_bytes_as_it_can(void **state)
{
	struct wbuf w = {0};

	wbuf_var(&w, 127);
	assert_int_equal(w.len, 1);
	wbuf_var(&w, 128);
	assert_int_equal(w.len, 3);
	wbuf_var(&w, ~0UL);
	assert_int_equal(w.len, 13);
	wbuf_free(&w);
}

static void var_too_long_is_refused(void **state)
{
	u8 ones[11], top[10];
	struct rbuf r;

	memset(ones, 0xff, sizeof(ones));
	r = rbuf_of(ones, sizeof(ones));
	assert_int_equal(rbuf_var(&r), 0);
	assert_int_equal(r.err, -EBADMSG);
	memset(top, 0x80, sizeof(top));
	top[9] = 2; /* bit 64 */
	r = rbuf_of(top, sizeof(top));
	assert_int_equal(rbuf_var(&r), 0);
	assert_int_equal(r.err, -EBADMSG);
	r = rbuf_of(ones, 3); /* never ends */
	assert_int_equal(rbuf_var(&r), 0);
	assert_int_equal(r.err, -EBADMSG);
}

static void reading_past_the_end_sticks(void **state)
{
	const u8 bytes[5] = {1, 2, 3, 4, 5};
	struct rbuf r = rbuf_of(bytes, sizeof(bytes));
	u8 out[8] = {9, 9, 9, 9, 9, 9, 9, 9};

	assert_int_equal(rbuf_u32(&r), 0x04030201);
	assert_int_equal(rbuf_u16(&r), 0);
	assert_int_equal(r.err, -EBADMSG);
	/* One byte is left, and stays so: errors do not heal. */
	assert_int_equal(rbuf_u8(&r), 0);
	assert_null(rbuf_take(&r, 1));
	rbuf_bytes(&r, out, sizeof(out));
	for (size_t i = 0; i < sizeof(out); i++)
		assert_int_equal(out[i], 0);
}

static void strings_come_back(void **state)
{
	struct wbuf w = {0};
	struct rbuf r;
	const char *s;
	char *copy;
	size_t n;

	wbuf_str(&w, "hello");
	wbuf_str(&w, NULL);
	wbuf_str(&w, "x");
	wbuf_var(&w, 1UL << 40); /* a length that is not there */
	r = rbuf_of(w.data, w.len);
	s = rbuf_str(&r, &n);
	assert_int_equal(n, 5);
	assert_memory_equal(s, "hello", 5);
	assert_non_null(rbuf_str(&r, &n));
	assert_int_equal(n, 0);
	copy = rbuf_strdup(&r);
	assert_string_equal(copy, "x");
	free(copy);
	assert_null(rbuf_str(&r, &n));
	assert_int_equal(n, 0);
	assert_int_equal(r.err, -EBADMSG);
	wbuf_free(&w);
}

static void writer_grows_and_keeps(void **state)
{
	struct wbuf w = {0};
	u8 *p;

	for (u32 i = 0; i < 10000; i++)
		wbuf_u32(&w, i);
	p = wbuf_grow(&w, 3);
	assert_non_null(p);
	memset(p, 7, 3);
	assert_int_equal(w.len, 40003);
	for (u32 i = 0; i < 10000; i++)
		assert_memory_equal(w.data + 4 * i, &i, 4);
	wbuf_reset(&w);
	assert_int_equal(w.len, 0);
	w.err = -ENOMEM;
	wbuf_u8(&w, 1);
	assert_int_equal(w.len, 0);
	assert_null(wbuf_grow(&w, 1));
	wbuf_free(&w);
}

static void arrays_grow(void **state)
{
	u64 *v = NULL;
	size_t cap = 0;

	for (size_t i = 0; i < 1000; i++) {
		assert_int_equal(array_reserve(&v, &cap, i + 1, sizeof(*v)), 0);
		assert_true(cap > i);
		v[i] = i;
	}
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(v[i], i);
	/* The size in bytes would not fit; nothing changes. */
	assert_int_equal(array_reserve(&v, &cap, SIZE_MAX / 4, sizeof(*v)), -ENOMEM);
	assert_int_equal(v[999], 999);
	free(v);
}

/* What @level and @fmt with @arg put on stderr. */
static void said(enum log_level level, const char *fmt, const char *arg, char *out,
		 size_t n)
{
	int fds[2], keep = dup(STDERR_FILENO);
	ssize_t got;

	assert_true(keep >= 0);
	assert_int_equal(pipe(fds), 0);
	assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
	close(fds[1]);
	log_msg(level, fmt, arg);
	assert_true(dup2(keep, STDERR_FILENO) >= 0);
	close(keep);
	got = read(fds[0], out, n - 1);
	close(fds[0]);
	assert_true(got >= 0);
	out[got] = '\0';
}

static void messages_are_one_line(void **state)
{
	char out[4096], big[4000];

	said(LOG_ERROR, "cannot open %s", "a", out, sizeof(out));
	assert_string_equal(out, "playhead: cannot open a\n");
	said(LOG_WARN, "%s", "a", out, sizeof(out));
	assert_string_equal(out, "playhead: warning: a\n");
	said(LOG_ERROR, "no %s", "a\nplayhead: all is well\033[2J", out, sizeof(out));
	assert_string_equal(out, "playhead: no a?playhead: all is well?[2J\n");
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	said(LOG_ERROR, "%s", big, out, sizeof(out));
	assert_true(strlen(out) > 1000);
	assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
}

static void levels_drop_messages(void **state)
{
	char out[256];

	said(LOG_DEBUG, "%s", "a", out, sizeof(out));
	assert_string_equal(out, "");
	log_set_level(LOG_DEBUG);
	said(LOG_DEBUG, "%s", "a", out, sizeof(out));
	assert_string_equal(out, "playhead: debug: a\n");
	log_set_level(LOG_SILENT);
	said(LOG_ERROR, "%s", "a", out, sizeof(out));
	assert_string_equal(out, "");
	log_set_level(LOG_INFO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_come_back),
		cmocka_unit_test(var_takes_as_few_bytes_as_it_can),
		cmocka_unit_test(var_too_long_is_refused),
		cmocka_unit_test(reading_past_the_end_sticks),
		cmocka_unit_test(strings_come_back),
		cmocka_unit_test(writer_grows_and_keeps),
		cmocka_unit_test(arrays_grow),
		cmocka_unit_test(messages_are_one_line),
		cmocka_unit_test(levels_drop_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
