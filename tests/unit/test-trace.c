/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces written and read back: whole, unclosed, cut at any byte, damaged. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "trace/trace.h"

#define N_EVENTS  3000
#define N_SAMPLES 500

static char top[64];
static int next_dir;

static void new_dir(char out[128])
{
	snprintf(out, 128, "%s/%d", top, next_dir++);
	assert_int_equal(mkdir(out, 0700), 0);
}

static struct event make_event(u64 i, struct effect *e, const u8 *data)
{
	struct event ev = {.tid = 100 + i % 3,
			   .pid = 100,
			   .time_ns = i * 1000,
			   .type = EV_SYSCALL,
			   .has_after = true,
			   .what = "read"};

	for (int r = 0; r < NR_REGS; r++)
		ev.regs.r[r] = i * 31 + r;
	ev.regs_after = ev.regs;
	ev.regs_after.r[X86_RAX] = i;
	*e = (struct effect){.kind = EF_MEM, .addr = 0x1000 + i, .len = i % 300};
	e->mem.data = data;
	ev.effects = e;
	ev.n_effects = 1;
	return ev;
}

static const struct trace_meta meta = {
	.sample_hz = 1000,
	.sampler = SAMPLER_BPF,
	.sampler_why = "",
	.program = "prog",
	.args = "prog a b",
	.cwd = "/",
	.host = "h",
	.kernel = "k",
	.cpu = "c",
};

static struct trace_writer *write_some(const char *dir, u64 events, u64 samples)
{
	static u8 data[300];
	struct trace_writer *w;
	struct effect e;

	memset(data, 0x5a, sizeof(data));
	assert_int_equal(trace_writer_new(&w, dir, &meta), 0);
	for (u64 i = 1; i <= events; i++) {
		struct event ev = make_event(i, &e, data);

		assert_int_equal(trace_writer_event(w, &ev), 0);
		assert_int_equal(ev.number, i);
	}
	for (u64 i = 1; i <= samples; i++) {
		struct sample s = {
			.time_ns = i,
			.tid = 7,
			.kind = SAMPLE_USER,
			.weight = 1,
			.point.event = i,
			.n_kernel = 2,
			.kernel = {1, 2}
		};

		assert_int_equal(trace_writer_sample(w, &s), 0);
		assert_int_equal(s.number, i);
	}
	return w;
}

/* Every event that is there must be right; returns how many, checks the order. */
static u64 check_events(struct trace_reader *r, bool damaged)
{
	const struct event *ev;
	struct trace_cursor *c;
	u64 n = 0;
	int got;

	assert_int_equal(trace_cursor_new(r, &c), 0);
	while ((got = trace_cursor_next(c, &ev)) == 1) {
		n++;
		assert_int_equal(ev->number, n);
		assert_int_equal(ev->tid, 100 + n % 3);
		assert_int_equal(ev->regs.r[3], n * 31 + 3);
		assert_int_equal(ev->regs_after.r[X86_RAX], n);
		assert_int_equal(ev->n_effects, 1);
		assert_int_equal(ev->effects[0].len, n % 300);
		for (u64 k = 0; k < n % 300; k++)
			assert_int_equal(ev->effects[0].mem.data[k], 0x5a);
	}
	if (!damaged)
		assert_int_equal(got, 0);
	trace_cursor_free(c);
	return n;
}

static void whole(void **state)
{
	struct trace_end end = {.clean = true, .status = 3, .why = ""};
	const struct sample *s;
	const struct event *ev;
	struct trace_reader *r;
	struct trace_cursor *c;
	char dir[128];

	new_dir(dir);
	assert_int_equal(trace_writer_close(write_some(dir, N_EVENTS, N_SAMPLES), &end), 0);
	assert_int_equal(trace_reader_open(&r, dir), 0);
	assert_true(trace_reader_end(r)->clean);
	assert_int_equal(trace_reader_end(r)->status, 3);
	assert_string_equal(trace_reader_meta(r)->args, "prog a b");
	assert_int_equal(check_events(r, false), N_EVENTS);
	assert_int_equal(trace_reader_samples(r), N_SAMPLES);
	for (u64 i = N_SAMPLES; i >= 1; i--) {
		assert_int_equal(trace_reader_sample(r, i, &s), 0);
		assert_int_equal(s->point.event, i);
		assert_int_equal(s->n_kernel, 2);
	}
	assert_int_equal(trace_reader_sample(r, N_SAMPLES + 1, &s), -ERANGE);
	assert_int_equal(trace_reader_sample(r, 0, &s), -ERANGE);
	assert_int_equal(trace_cursor_new(r, &c), 0);
	assert_int_equal(trace_cursor_seek(c, 1234), 0);
	assert_int_equal(trace_cursor_next(c, &ev), 1);
	assert_int_equal(ev->number, 1234);
	assert_int_equal(trace_cursor_seek(c, N_EVENTS + 2), -ERANGE);
	trace_cursor_free(c);
	trace_reader_free(r);
}

static void unclosed(void **state)
{
	struct trace_end end = {.clean = true, .why = ""};
	struct trace_writer *w;
	struct trace_reader *r;
	char dir[128];

	new_dir(dir);
	w = write_some(dir, N_EVENTS, 5);
	/* As if the recorder had been killed here. */
	assert_int_equal(trace_reader_open(&r, dir), 0);
	assert_false(trace_reader_end(r)->clean);
	assert_int_equal(check_events(r, false), N_EVENTS);
	assert_int_equal(trace_reader_samples(r), 5);
	trace_reader_free(r);
	assert_int_equal(trace_writer_close(w, &end), 0);
}

static void big_record(void **state)
{
	struct trace_end end = {.clean = true, .why = ""};
	size_t len = 3 << 20;
	u8 *data = malloc(len);
	struct trace_writer *w;
	struct trace_reader *r;
	struct trace_cursor *c;
	const struct event *ev;
	struct effect e;
	char dir[128];

	assert_non_null(data);
	memset(data, 9, len);
	new_dir(dir);
	w = write_some(dir, 10, 0);
	for (u64 i = 11; i <= 12; i++) {
		struct event evt = make_event(i, &e, data);

		e.len = len;
		assert_int_equal(trace_writer_event(w, &evt), 0);
	}
	assert_int_equal(trace_writer_close(w, &end), 0);
	assert_int_equal(trace_reader_open(&r, dir), 0);
	assert_int_equal(trace_cursor_new(r, &c), 0);
	assert_int_equal(trace_cursor_seek(c, 12), 0);
	assert_int_equal(trace_cursor_next(c, &ev), 1);
	assert_int_equal(ev->effects[0].len, len);
	assert_memory_equal(ev->effects[0].mem.data, data, len);
	trace_cursor_free(c);
	trace_reader_free(r);
	free(data);
}

static void event_kinds(void **state)
{
	struct trace_end end = {.clean = true, .why = ""};
	struct regs child = {
		.r = {1, 2, 3}
	      };
	struct point_page pages[2] = {
		{0x1000, 5},
		     {0x2000, 6}
	};
	siginfo_t si = {.si_signo = SIGUSR1};
	struct effect e[3] = {
		{.kind = EF_MAP,
		 .addr = 0x1000,
		 .len = 0x2000,
		 .map = {.prot = 5,
			 .flags = MAP_PRIVATE,
			 .offset = 7,
			 .file = 2,
			 .name = "x"}							  },
		{.kind = EF_FORK,
		 .fork = {.tid = 9, .pid = 8, .share = true, .regs = &child}},
		{.kind = EF_REMAP,	   .addr = 1,				      .len = 2, .remap = {3, 4, 5}},
	};
	struct event in = {.tid = 1,
			   .pid = 1,
			   .type = EV_SIGNAL,
			   .where = WHERE_POINT,
			   .siginfo = &si,
			   .xstate = (const u8 *)"xyz",
			   .xstate_len = 3,
			   .effects = e,
			   .n_effects = 3};
	const struct event *ev;
	struct trace_writer *w;
	struct trace_reader *r;
	struct trace_cursor *c;
	char dir[128];

	in.point.n_words = 1;
	in.point.words[0] = (struct point_word){0x3000, 4};
	in.point.n_pages = 2;
	in.point.pages = pages;
	new_dir(dir);
	w = write_some(dir, 0, 0);
	assert_int_equal(trace_writer_event(w, &in), 0);
	in = (struct event){.tid = 1, .type = EV_EXIT, .status = 0x100};
	assert_int_equal(trace_writer_event(w, &in), 0);
	in = (struct event){.tid = 1,
			    .type = EV_EXEC,
			    .exe = "/bin/x",
			    .auxv = (const u8 *)"ab",
			    .auxv_len = 2};
	assert_int_equal(trace_writer_event(w, &in), 0);
	assert_int_equal(trace_writer_close(w, &end), 0);
	assert_int_equal(trace_reader_open(&r, dir), 0);
	assert_int_equal(trace_cursor_new(r, &c), 0);
	assert_int_equal(trace_cursor_next(c, &ev), 1);
	assert_int_equal(ev->siginfo->si_signo, SIGUSR1);
	assert_memory_equal(ev->xstate, "xyz", 3);
	assert_int_equal(ev->point.words[0].addr, 0x3000);
	assert_int_equal(ev->point.pages[1].hash, 6);
	assert_string_equal(ev->effects[0].map.name, "x");
	assert_int_equal(ev->effects[1].fork.regs->r[1], 2);
	assert_int_equal(ev->effects[2].remap.from_len, 4);
	assert_int_equal(trace_cursor_next(c, &ev), 1);
	assert_int_equal(ev->status, 0x100);
	assert_int_equal(trace_cursor_next(c, &ev), 1);
	assert_string_equal(ev->exe, "/bin/x");
	assert_int_equal(trace_cursor_next(c, &ev), 0);
	trace_cursor_free(c);
	trace_reader_free(r);
}

static off_t size_of(const char *dir, const char *name)
{
	struct stat st;
	char path[192];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return stat(path, &st) ? -1 : st.st_size;
}

/* Copies the trace at @dir with @name cut to @len or its byte @flip changed. */
static void spoil(const char *dir, char to[128], const char *name, off_t len, off_t flip)
{
	char cmd[512], path[192];
	u8 byte;
	int fd;

	new_dir(to);
	snprintf(cmd, sizeof(cmd), "cp -r '%s'/. '%s'", dir, to);
	assert_int_equal(system(cmd), 0);
	snprintf(path, sizeof(path), "%s/%s", to, name);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	if (len >= 0)
		assert_int_equal(ftruncate(fd, len), 0);
	if (flip >= 0 && pread(fd, &byte, 1, flip) == 1) {
		byte ^= 0x41;
		assert_int_equal(pwrite(fd, &byte, 1, flip), 1);
	}
	close(fd);
}

static void drop(const char *dir)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	assert_int_equal(system(cmd), 0);
}

static void cut_and_damaged(void **state)
{
	static const char *const names[] = {"events",	    "events.tail", "samples",
					    "samples.tail", "tables",	   "meta"};
	struct trace_writer *w;
	struct trace_end end = {.clean = true, .why = ""};
	struct trace_reader *r;
	const struct sample *s;
	char dir[128], bad[128];

	new_dir(dir);
	w = write_some(dir, N_EVENTS, 20);
	log_set_level(LOG_SILENT);
	srandom(1);
	for (size_t f = 0; f < ARRAY_SIZE(names); f++) {
		off_t size = size_of(dir, names[f]);

		assert_true(size >= 0);
		for (int i = 0; i < 24; i++) {
			off_t at = size ? random() % size : 0;

			spoil(dir, bad, names[f], i & 1 ? at : -1, i & 1 ? -1 : at);
			if (!trace_reader_open(&r, bad)) {
				u64 n = check_events(r, true);

				if (f > 1)
					assert_int_equal(n, N_EVENTS);
				for (u64 k = 1; k <= trace_reader_samples(r); k++)
					if (trace_reader_sample(r, k, &s))
						break;
				trace_reader_free(r);
			} else {
				assert_string_equal(names[f], "meta");
			}
			drop(bad);
		}
	}
	log_set_level(LOG_INFO);
	assert_int_equal(trace_writer_close(w, &end), 0);
}

static void foreign(void **state)
{
	struct trace_end end = {.clean = true, .why = ""};
	struct trace_reader *r;
	char dir[128], bad[128], found[256];

	log_set_level(LOG_SILENT);
	new_dir(dir);
	assert_int_equal(trace_dir_find(dir, found, sizeof(found)), -EINVAL);
	assert_int_equal(trace_reader_open(&r, dir), -ENOENT);
	assert_int_equal(trace_writer_close(write_some(dir, 1, 0), &end), 0);
	spoil(dir, bad, "meta", -1, 0);
	assert_int_equal(trace_reader_open(&r, bad), -EINVAL);
	spoil(dir, bad, "meta", -1, 8);
	assert_int_equal(trace_reader_open(&r, bad), -EPROTONOSUPPORT);
	log_set_level(LOG_INFO);
}

static int setup(void **state)
{
	snprintf(top, sizeof(top), "/tmp/playhead-test-trace-XXXXXX");
	return mkdtemp(top) ? 0 : -1;
}

static int teardown(void **state)
{
	drop(top);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),      cmocka_unit_test(unclosed),
		cmocka_unit_test(big_record), cmocka_unit_test(event_kinds),
		cmocka_unit_test(foreign),    cmocka_unit_test(cut_and_damaged),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
