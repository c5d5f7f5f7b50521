/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Travel in a recording of tests/targets/steps that this test makes itself, by
 * single-stepping the program: so the register state at every instruction is
 * known, and forwards and backwards are checked against it.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/log.h"
#include "replay/timeline.h"

#define SAMPLE_EVERY 97

struct state {
	struct regs regs;
	u64 event; /* last event before it */
};

static struct state *truth;
static size_t n_truth, cap_truth;
static char dir[256];
static u64 n_samples;
static size_t sample_at[1000]; /* index of the state of each */
static u64 cells;	       /* a word that the program writes often: on its stack */

static int read_mem(void *ctx, u64 addr, void *buf, size_t n)
{
	return tracee_read_some(*(pid_t *)ctx, addr, buf, n) == n ? 0 : -EFAULT;
}

static void add_truth(const struct regs *r, u64 event)
{
	assert_int_equal(array_reserve(&truth, &cap_truth, n_truth + 1, sizeof(*truth)), 0);
	truth[n_truth++] = (struct state){*r, event};
}

/* ---- the small recorder ---- */

static size_t add_maps(struct trace_writer *w, pid_t pid, struct effect *e)
{
	char path[64], line[512];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	while (fgets(line, sizeof(line), f)) {
		u64 start, end, off;
		char perm[5], name[256] = "";
		u32 id = 0;
		bool stack;

		sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %255[^\n]",
		       &start, &end, perm, &off, name);
		if (strstr(name, "[v"))
			continue;
		stack = strstr(name, "[stack]");
		if (strchr(name, '/')) {
			int fd = open(strchr(name, '/'), O_RDONLY);

			assert_int_equal(trace_writer_file(w, fd, strchr(name, '/'), &id),
					 0);
			close(fd);
		}
		e[n++] = (struct effect){
			.kind = EF_MAP,
			.addr = start,
			.len = end - start,
			.map = {.prot = (perm[0] == 'r' ? PROT_READ : 0) |
					(perm[1] == 'w' ? PROT_WRITE : 0) |
					(perm[2] == 'x' ? PROT_EXEC : 0),
				.flags = MAP_PRIVATE | (stack ? MAP_GROWSDOWN : 0),
				.offset = off,
				.file = id,
				.name = stack ? "[stack]" : ""},
		};
		if (stack) {
			u8 *data = malloc(end - start);

			assert_int_equal(tracee_read(pid, start, data, end - start), 0);
			e[n++] = (struct effect){.kind = EF_MEM,
						 .addr = start,
						 .len = end - start,
						 .mem = {.data = data}};
		}
	}
	fclose(f);
	return n;
}

static void put(struct trace_writer *w, struct event *ev)
{
	assert_int_equal(trace_writer_event(w, ev), 0);
}

static void put_sample(struct trace_writer *w, pid_t pid, const struct regs *r)
{
	struct sample s = {.tid = pid, .pid = pid, .kind = SAMPLE_USER, .weight = 1};

	sample_at[n_samples] = n_truth - 1;
	s.number = ++n_samples;
	s.point.event = trace_writer_last(w);
	s.point.tid = pid;
	s.point.regs = *r;
	assert_int_equal(print_compute(&s.point.print, r, NULL, read_mem, &pid), 0);
	assert_int_equal(trace_writer_sample(w, &s), 0);
}

/* Preempted in the middle of a rep instruction, twice in the same one: samples
 * lie in it before, between and after. */
static void put_sched(struct trace_writer *w, pid_t pid, const struct regs *r)
{
	struct event ev = {.tid = pid, .pid = pid, .type = EV_SCHED};
	static unsigned in_rep;
	size_t n = n_truth;

	if (n < 2 || truth[n - 2].regs.r[X86_RIP] != r->r[X86_RIP]) {
		in_rep = 0;
		return;
	}
	if (++in_rep != 300 && in_rep != 450)
		return;
	ev.point.event = trace_writer_last(w);
	ev.point.tid = pid;
	ev.point.regs = *r;
	assert_int_equal(print_compute(&ev.point.print, r, NULL, read_mem, &pid), 0);
	put(w, &ev);
}

static pid_t start(const char *exe)
{
	struct tracee_stop s;
	pid_t pid = fork();

	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execl(exe, exe, NULL);
		_exit(1);
	}
	assert_int_equal(tracee_wait(pid, 0, &s), 0);
	assert_int_equal(s.kind, TRACEE_SIGNAL);
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
	return pid;
}

static void put_start(struct trace_writer *w, pid_t pid, const char *exe)
{
	struct effect effects[32];
	struct event ev = {.tid = pid, .pid = pid, .type = EV_START};

	put(w, &ev);
	ev = (struct event){.tid = pid, .pid = pid, .type = EV_EXEC, .exe = exe};
	ev.has_after = true;
	ev.effects = effects;
	ev.n_effects = add_maps(w, pid, effects);
	assert_int_equal(tracee_get_regs(pid, &ev.regs_after), 0);
	ev.regs_after.r[X86_ORIG_RAX] = -1;
	put(w, &ev);
	for (u32 i = 0; i < ev.n_effects; i++)
		if (effects[i].kind == EF_MEM)
			free((void *)effects[i].mem.data);
}

static bool at_syscall(pid_t pid, const struct regs *r)
{
	u8 code[2];

	return !tracee_read(pid, r->r[X86_RIP], code, 2) && code[0] == 0x0f &&
	       code[1] == 0x05;
}

/* The system call at @r; false: it ends the program. */
static bool put_syscall(struct trace_writer *w, pid_t pid)
{
	struct event ev = {.tid = pid, .pid = pid, .type = EV_SYSCALL, .has_after = true};
	struct tracee_stop s;

	assert_int_equal(tracee_resume(pid, PTRACE_SYSCALL, 0), 0);
	assert_int_equal(tracee_wait(pid, 0, &s), 0);
	assert_int_equal(tracee_get_regs(pid, &ev.regs), 0);
	assert_int_equal(tracee_resume(pid, PTRACE_SYSCALL, 0), 0);
	assert_int_equal(tracee_wait(pid, 0, &s), 0);
	if (s.kind == TRACEE_EXITED) {
		ev.type = EV_ENTER;
		ev.has_after = false;
		put(w, &ev);
		ev = (struct event){.tid = pid, .pid = pid, .type = EV_EXIT};
		ev.status = s.status;
		put(w, &ev);
		return false;
	}
	assert_int_equal(tracee_get_regs(pid, &ev.regs_after), 0);
	ev.regs_after.r[X86_ORIG_RAX] = -1;
	put(w, &ev);
	return true;
}

static int record(void **state)
{
	struct trace_meta meta = {.version = TRACE_VERSION, .program = "steps"};
	struct trace_end end = {.clean = true, .status = 7 << 8};
	struct trace_writer *w;
	struct tracee_stop s;
	char exe[512];
	struct regs r;
	pid_t pid;

	(void)state;
	assert_non_null(realpath("tests/targets/steps", exe));
	snprintf(dir, sizeof(dir), "/tmp/test-timeline.%d", getpid());
	assert_int_equal(mkdir(dir, 0700), 0);
	meta.args = meta.cwd = meta.host = meta.kernel = meta.cpu = meta.sampler_why = "";
	assert_int_equal(trace_writer_new(&w, dir, &meta), 0);
	pid = start(exe);
	put_start(w, pid, exe);
	for (;;) {
		assert_int_equal(tracee_get_regs(pid, &r), 0);
		r.r[X86_ORIG_RAX] = -1;
		add_truth(&r, trace_writer_last(w));
		if (at_syscall(pid, &r)) {
			if (!put_syscall(w, pid))
				break;
			continue;
		}
		if (n_truth % SAMPLE_EVERY == 0)
			put_sample(w, pid, &r);
		put_sched(w, pid, &r);
		assert_int_equal(tracee_resume(pid, PTRACE_SINGLESTEP, 0), 0);
		assert_int_equal(tracee_wait(pid, 0, &s), 0);
	}
	cells = truth[0].regs.r[X86_RSP] - 8;
	end.events = trace_writer_last(w);
	end.samples = n_samples;
	end.why = "";
	assert_int_equal(trace_writer_close(w, &end), 0);
	return 0;
}

static int cleanup(void **state)
{
	char cmd[300];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	free(truth);
	return system(cmd);
}

/* ---- helpers ---- */

static struct timeline *open_it(void)
{
	struct timeline_opts o = {0};
	struct timeline *t;

	assert_int_equal(timeline_open(&t, dir, &o), 0);
	return t;
}

static void assert_at(struct timeline *t, size_t i)
{
	struct regs r;
	char diff[300] = "";

	assert_int_equal(timeline_regs(t, 0, &r), 0);
	if (!regs_equal(&r, &truth[i].regs)) {
		regs_diff(&truth[i].regs, &r, diff, sizeof(diff));
		print_error("state %zu: %s\n", i, diff);
	}
	assert_string_equal(diff, "");
}

static void step(struct timeline *t, bool back, enum travel_end want)
{
	struct travel_result r;

	assert_int_equal(timeline_step(t, 0, back, &r), 0);
	assert_int_equal(r.end, want);
}

/* Index of the state of sample @number. */
static size_t index_of(u64 number)
{
	assert_in_range(number, 1, n_samples);
	return sample_at[number - 1];
}

/* ---- tests ---- */

static void test_run_out(void **state)
{
	struct timeline *t = open_it();
	struct timeline_where w;
	s32 status;

	(void)state;
	assert_int_equal(timeline_run_out(t, &status), 0);
	assert_int_equal(WEXITSTATUS(status), 7);
	timeline_where(t, &w);
	assert_true(w.at_end);
	timeline_close(t);
}

static void test_verify(void **state)
{
	struct timeline *t = open_it();
	struct verify_counts c;

	(void)state;
	assert_int_equal(timeline_verify(t, &c, NULL, NULL), 0);
	assert_int_equal(c.samples, n_samples);
	assert_int_equal(c.lost, 0);
	assert_int_equal(c.exact, n_samples);
	timeline_close(t);
}

static void test_step_all_forwards(void **state)
{
	struct timeline *t = open_it();

	(void)state;
	assert_at(t, 0);
	for (size_t i = 1; i < n_truth; i++) {
		step(t, false, TRAVEL_STEP);
		assert_at(t, i);
	}
	step(t, false, TRAVEL_END);
	timeline_close(t);
}

static void test_step_all_backwards(void **state)
{
	struct timeline *t = open_it();
	size_t i = index_of(n_samples);

	(void)state;
	assert_int_equal(timeline_seek_sample(t, n_samples), 0);
	assert_at(t, i);
	while (i) {
		step(t, true, TRAVEL_STEP);
		assert_at(t, --i);
	}
	step(t, true, TRAVEL_BEGIN);
	assert_at(t, 0);
	step(t, true, TRAVEL_BEGIN);
	step(t, false, TRAVEL_STEP);
	assert_at(t, 1);
	timeline_close(t);
}

static void test_samples_back_and_forth(void **state)
{
	struct timeline *t = open_it();

	(void)state;
	for (u64 k = 0; k < 12; k++) {
		u64 number = 1 + (k * 31) % n_samples;
		size_t i = index_of(number), n = MIN(i, 50UL);

		assert_int_equal(timeline_seek_sample(t, number), 0);
		assert_at(t, i);
		for (size_t j = 1; j <= n; j++) {
			step(t, true, TRAVEL_STEP);
			assert_at(t, i - j);
		}
		for (size_t j = n; j-- > 0;) {
			step(t, false, TRAVEL_STEP);
			assert_at(t, i - j);
		}
	}
	timeline_close(t);
}

static void test_breaks(void **state)
{
	struct timeline *t = open_it();
	struct travel_result r;
	u64 ip = truth[index_of(3)].regs.r[X86_RIP];
	u32 pid;
	int id;

	(void)state;
	assert_int_equal(timeline_threads(t, 0, NULL, &pid, 1), 1);
	assert_int_equal(timeline_break(t, pid, ip, NULL, NULL, &id), 0);
	for (size_t i = 1; i < n_truth; i++) {
		if (truth[i].regs.r[X86_RIP] != ip || (truth[i - 1].regs.r[X86_RIP] == ip))
			continue;
		assert_int_equal(timeline_continue(t, 0, false, &r), 0);
		assert_int_equal(r.end, TRAVEL_BREAK);
		assert_int_equal(r.id, id);
		assert_at(t, i);
	}
	assert_int_equal(timeline_continue(t, 0, false, &r), 0);
	assert_int_equal(r.end, TRAVEL_END);
	for (size_t i = n_truth; i-- > 1;) {
		if (truth[i].regs.r[X86_RIP] != ip || (truth[i - 1].regs.r[X86_RIP] == ip))
			continue;
		assert_int_equal(timeline_continue(t, 0, true, &r), 0);
		assert_int_equal(r.end, TRAVEL_BREAK);
		assert_at(t, i);
	}
	assert_int_equal(timeline_continue(t, 0, true, &r), 0);
	assert_int_equal(r.end, TRAVEL_BEGIN);
	assert_at(t, 0);
	timeline_close(t);
}

static void test_watch(void **state)
{
	struct timeline *t = open_it();
	struct travel_result r;
	struct regs at;
	size_t i = index_of(n_samples);
	u64 word, then;
	u32 pid;
	int id;

	(void)state;
	assert_int_equal(timeline_threads(t, 0, NULL, &pid, 1), 1);
	assert_int_equal(timeline_seek_sample(t, n_samples), 0);
	assert_int_equal(timeline_read(t, pid, cells, &word, 8), 0);
	assert_int_equal(timeline_watch(t, pid, WATCH_WRITE, cells, 8, &id), 0);
	assert_int_equal(timeline_continue(t, 0, true, &r), 0);
	assert_int_equal(r.end, TRAVEL_WATCH);
	/* It stands before the write: one step on, the word has its value. */
	assert_int_equal(timeline_regs(t, 0, &at), 0);
	while (i && !regs_equal(&at, &truth[i].regs))
		i--;
	assert_int_equal(timeline_unbreak(t, id), 0);
	step(t, false, TRAVEL_STEP);
	assert_int_equal(timeline_read(t, pid, cells, &then, 8), 0);
	assert_int_equal(then, word);
	assert_at(t, i + 1);
	timeline_close(t);
}

static void test_point_and_lost(void **state)
{
	struct timeline *t = open_it();
	struct point p, q;

	(void)state;
	assert_int_equal(timeline_seek_sample(t, 5), 0);
	assert_int_equal(timeline_point(t, &p), 0);
	q = p;
	q.print.stack ^= 1;
	assert_int_equal(timeline_seek_event(t, p.event), 0);
	assert_int_equal(timeline_seek(t, &q), -ENOENT);
	assert_int_equal(timeline_seek(t, &p), 0);
	assert_at(t, index_of(5));
	q.event = 1000000;
	assert_int_equal(timeline_seek(t, &q), -ERANGE);
	assert_int_equal(timeline_seek_sample(t, n_samples + 1), -ERANGE);
	assert_at(t, index_of(5));
	timeline_close(t);
}

static void test_diversion(void **state)
{
	struct timeline *t = open_it();
	struct travel_result r;
	struct regs regs;
	u64 was, now = 0x1234;
	u32 pid;

	(void)state;
	assert_int_equal(timeline_threads(t, 0, NULL, &pid, 1), 1);
	assert_int_equal(timeline_seek_sample(t, 7), 0);
	assert_int_equal(timeline_read(t, pid, cells, &was, 8), 0);
	assert_int_equal(timeline_write(t, pid, cells, &now, 8), -EPERM);
	assert_int_equal(timeline_divert(t), 0);
	assert_int_equal(timeline_write(t, pid, cells, &now, 8), 0);
	assert_int_equal(timeline_read(t, pid, cells, &now, 8), 0);
	assert_int_equal(now, 0x1234);
	assert_int_equal(timeline_regs(t, 0, &regs), 0);
	regs.r[X86_RBX] ^= 0xff;
	assert_int_equal(timeline_set_regs(t, 0, &regs), 0);
	assert_int_equal(timeline_step(t, 0, false, &r), 0);
	assert_int_equal(timeline_undivert(t), 0);
	assert_at(t, index_of(7));
	assert_int_equal(timeline_read(t, pid, cells, &now, 8), 0);
	assert_int_equal(now, was);
	step(t, true, TRAVEL_STEP);
	assert_at(t, index_of(7) - 1);
	timeline_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_out),
		cmocka_unit_test(test_verify),
		cmocka_unit_test(test_step_all_forwards),
		cmocka_unit_test(test_step_all_backwards),
		cmocka_unit_test(test_samples_back_and_forth),
		cmocka_unit_test(test_breaks),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_point_and_lost),
		cmocka_unit_test(test_diversion),
	};

	return cmocka_run_group_tests_name("timeline", tests, record, cleanup);
}
