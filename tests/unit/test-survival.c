/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is left of a trace: cut at every byte, changed in every byte, written
 * by a recorder that is killed, written to a disk that fills up.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "trace/trace.h"

#define DATA_BYTES 1024

static char top[64], dir[128];
static u8 noise[DATA_BYTES + 256];

static const struct trace_meta meta = {
	.sampler_why = "",
	.program = "prog",
	.args = "prog",
	.cwd = "/",
	.host = "h",
	.kernel = "k",
	.cpu = "c",
};

/* Event @i writes @len bytes of noise, from a place that @i says. */
static int put_event(struct trace_writer *w, u64 i, u64 len)
{
	struct effect e = {.kind = EF_MEM, .addr = i, .len = len, .mem = {noise + i % 256}};
	struct event ev = {.tid = i,
			   .pid = 1,
			   .time_ns = i,
			   .type = EV_SYSCALL,
			   .what = "read",
			   .effects = &e,
			   .n_effects = 1};

	ev.regs.r[X86_RIP] = i;
	return trace_writer_event(w, &ev);
}

static int put_sample(struct trace_writer *w, u64 i)
{
	struct sample s = {.time_ns = i, .kind = SAMPLE_USER, .point.event = i};

	return trace_writer_sample(w, &s);
}

/* Reads all there is. What is there has to be right, and in order. */
static u64 count_events(struct trace_reader *r, int *last)
{
	const struct event *ev;
	struct trace_cursor *c;
	u64 n = 0;

	assert_int_equal(trace_cursor_new(r, &c), 0);
	while ((*last = trace_cursor_next(c, &ev)) == 1) {
		n++;
		assert_int_equal(ev->number, n);
		assert_int_equal(ev->tid, n);
		assert_int_equal(ev->time_ns, n);
		assert_int_equal(ev->regs.r[X86_RIP], n);
		assert_string_equal(ev->what, "read");
		assert_int_equal(ev->n_effects, 1);
		assert_memory_equal(ev->effects[0].mem.data, noise + n % 256,
				    ev->effects[0].len);
	}
	trace_cursor_free(c);
	return n;
}

static u64 count_samples(struct trace_reader *r)
{
	const struct sample *s;
	u64 n = 0;

	while (n < trace_reader_samples(r) && !trace_reader_sample(r, n + 1, &s)) {
		n++;
		assert_int_equal(s->point.event, n);
	}
	return n;
}

static void at(const char *name, char path[192])
{
	snprintf(path, 192, "%s/%s", dir, name);
}

static int open_file(const char *name, off_t *size)
{
	struct stat st;
	char path[192];
	int fd;

	at(name, path);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	*size = st.st_size;
	return fd;
}

#define N_EVENTS  9
#define N_SAMPLES 5

/* A small trace in @dir; with @close no tails are left. */
static void small_trace(bool close_it)
{
	struct trace_end end = {.clean = true, .why = ""};
	struct trace_writer *w;
	pid_t pid = fork();
	int status, err = 0;
	u32 id;

	assert_true(pid >= 0);
	if (!pid) {
		int fd = open("/proc/self/exe", O_RDONLY);

		err = trace_writer_new(&w, dir, &meta);
		for (u64 i = 1; i <= N_EVENTS && !err; i++)
			err = put_event(w, i, i);
		for (u64 i = 1; i <= N_SAMPLES && !err; i++)
			err = put_sample(w, i);
		err = err ? err : trace_writer_file(w, fd, "exe", &id);
		err = err ? err : trace_writer_ksym(w, 5, "five");
		if (close_it)
			err = err ? err : trace_writer_close(w, &end);
		_exit(err ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

struct left {
	u64 events, samples;
	int opened, last;
};

static struct left look(void)
{
	struct trace_reader *r;
	struct left l = {0};

	l.opened = trace_reader_open(&r, dir);
	if (l.opened)
		return l;
	l.events = count_events(r, &l.last);
	l.samples = count_samples(r);
	/* Neither may trip over what the tables lack. */
	(void)trace_reader_file(r, 1);
	(void)trace_reader_ksym(r, 5);
	trace_reader_free(r);
	return l;
}

/* Cut shorter and shorter: what can be read gets less, never wrong. */
static void cut_file(const char *name)
{
	bool events = !strncmp(name, "events", 6), samples = !strncmp(name, "samples", 7);
	u64 had = N_EVENTS;
	off_t size, kept = -1;
	int fd = open_file(name, &size);

	for (off_t len = size - 1; len >= 0; len--) {
		struct left l;

		assert_int_equal(ftruncate(fd, len), 0);
		/* The unused part of a tail takes long to go through. */
		if (len > 16384 && len % 4096)
			continue;
		l = look();
		if (!strcmp(name, "meta")) {
			assert_true(l.opened < 0);
			continue;
		}
		assert_int_equal(l.opened, 0);
		assert_int_equal(l.last, 0);
		assert_true(l.events <= had);
		if (!events)
			assert_int_equal(l.events, N_EVENTS);
		if (!samples)
			assert_int_equal(l.samples, N_SAMPLES);
		if (l.events < had && kept < 0)
			kept = len;
		had = l.events;
	}
	if (events) {
		assert_int_equal(had, 0);
		/* Only a cut into the records themselves costs any. */
		assert_true(kept >= 0 && kept < 16384);
	}
	close(fd);
}

static void clean_up(void)
{
	char cmd[320];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s' && mkdir '%s'", dir, dir);
	assert_int_equal(system(cmd), 0);
}

static void cut_at_every_byte(void **state)
{
	static const char *const closed[] = {"events", "samples", "tables", "end", "meta"};
	static const char *const open_[] = {"events.tail", "samples.tail"};

	log_set_level(LOG_SILENT);
	for (size_t i = 0; i < ARRAY_SIZE(closed) + ARRAY_SIZE(open_); i++) {
		bool tail = i >= ARRAY_SIZE(closed);

		clean_up();
		small_trace(!tail);
		cut_file(tail ? open_[i - ARRAY_SIZE(closed)] : closed[i]);
	}
	log_set_level(LOG_INFO);
}

static void flip_file(const char *name)
{
	off_t size;
	int fd = open_file(name, &size);
	bool damage = false;

	for (off_t i = 0; i < MIN(size, 4096); i++)
		for (int bit = 0; bit < 8; bit += 3) {
			u8 was, is;
			struct left l;

			assert_int_equal(pread(fd, &was, 1, i), 1);
			is = was ^ (1 << bit);
			assert_int_equal(pwrite(fd, &is, 1, i), 1);
			l = look();
			damage |= l.opened || l.last || l.events < N_EVENTS ||
				  l.samples < N_SAMPLES;
			assert_int_equal(pwrite(fd, &was, 1, i), 1);
		}
	if (strcmp(name, "tables") && strcmp(name, "end"))
		assert_true(damage);
	close(fd);
}

static void any_byte_changed(void **state)
{
	static const char *const names[] = {"meta",    "events",       "events.tail",
					    "samples", "samples.tail", "tables",
					    "end"};
	struct left l;

	log_set_level(LOG_SILENT);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		clean_up();
		small_trace(!strstr(names[i], "tail"));
		flip_file(names[i]);
		l = look();
		assert_int_equal(l.events, N_EVENTS);
		assert_int_equal(l.samples, N_SAMPLES);
	}
	log_set_level(LOG_INFO);
}

/* Appends until it is killed; @done says how many are in. */
static void append_for_ever(volatile u64 *done)
{
	struct trace_writer *w;

	if (trace_writer_new(&w, dir, &meta))
		_exit(1);
	for (u64 i = 1;; i++) {
		if (put_event(w, i, i % DATA_BYTES) || put_sample(w, i))
			_exit(1);
		*done = i;
	}
}

static void killed_recorder_loses_nothing(void **state)
{
	volatile u64 *done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(done, MAP_FAILED);
	for (unsigned i = 0; i < 12; i++) {
		struct trace_reader *r;
		int status, last;
		u64 n;
		pid_t pid;

		clean_up();
		*done = 0;
		pid = fork();
		assert_true(pid >= 0);
		if (!pid)
			append_for_ever(done);
		while (*done < 100 + i * 350) {
			assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
			usleep(100);
		}
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(trace_reader_open(&r, dir), 0);
		n = count_events(r, &last);
		assert_int_equal(last, 0);
		/* One more may be in, of which the recorder had no time to know. */
		assert_in_range(n, *done, *done + 1);
		assert_in_range(count_samples(r), *done, *done + 1);
		assert_false(trace_reader_end(r)->clean);
		assert_int_equal(trace_reader_end(r)->events, n);
		assert_int_equal(trace_reader_end(r)->time_ns, n);
		trace_reader_free(r);
	}
	munmap((void *)done, sizeof(*done));
}

/* The room that @limit leaves every file is used up. */
static void fill(rlim_t limit)
{
	struct trace_end end = {.clean = true, .status = 7, .why = ""};
	struct rlimit old, now;
	struct trace_writer *w;
	struct trace_reader *r;
	u64 n = 0;
	int err, last;

	clean_up();
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(trace_writer_new(&w, dir, &meta), 0);
	now = old;
	now.rlim_cur = limit;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
	while (!(err = put_event(w, n + 1, DATA_BYTES)))
		n++;
	assert_int_equal(err, -EFBIG);
	assert_int_equal(put_event(w, n + 1, 1), -EFBIG);
	assert_int_equal(trace_writer_last(w), n);
	assert_int_equal(trace_writer_close(w, &end), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(trace_reader_open(&r, dir), 0);
	assert_false(trace_reader_end(r)->clean);
	assert_int_equal(trace_reader_end(r)->status, 7);
	assert_non_null(strstr(trace_reader_end(r)->why, strerror(EFBIG)));
	assert_int_equal(count_events(r, &last), n);
	assert_int_equal(last, 0);
	trace_reader_free(r);
}

static void full_disk_keeps_what_is_in(void **state)
{
	static const rlim_t limits[] = {16 << 10, 128 << 10, 600 << 10, 1300 << 10};

	signal(SIGXFSZ, SIG_IGN);
	log_set_level(LOG_SILENT);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		fill(limits[i]);
	log_set_level(LOG_INFO);
}

/* No room for even an empty trace: said at once, not later by SIGBUS. */
static void no_room_to_begin(void **state)
{
	struct rlimit old, now;
	struct trace_writer *w;

	clean_up();
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	now = old;
	now.rlim_cur = 100 << 10;
	log_set_level(LOG_SILENT);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
	assert_int_equal(trace_writer_new(&w, dir, &meta), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	log_set_level(LOG_INFO);
}

static int setup(void **state)
{
	snprintf(top, sizeof(top), "/tmp/playhead-test-survival-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(dir, sizeof(dir), "%s/t", top);
	srandom(1);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = random();
	return mkdir(dir, 0700);
}

static int teardown(void **state)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", top);
	return system(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(any_byte_changed),
		cmocka_unit_test(killed_recorder_loses_nothing),
		cmocka_unit_test(full_disk_keeps_what_is_in),
		cmocka_unit_test(no_room_to_begin),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
