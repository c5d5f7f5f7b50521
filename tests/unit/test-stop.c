// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Small functions run in a child of ours. A single-stepped run of each is the
 * truth: the states it passes through, in order. Then every instruction of it
 * is made a condition, by registers, by the number of the pass and by counting
 * alone, under every way; each must stop where the truth says, count what the
 * truth says, and leave the function's result as it is.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "stop/stop.h"
#include "tests/unit/stop-truth.h"

static int ways[NR_STOP_WAYS]; /* how often each has served */

/* Run from the start with @c; it must stop at trace[@at] and not before. */
static void expect_at(struct stops *s, const struct fn *f, const struct stop_cond *c,
		      int at, const char *what)
{
	struct stops_run_opts look = {.look_here = true, .budget_ns = 5 * NSEC_PER_SEC};
	struct stop_cond counter = {.ip = c->ip, .count_only = true};
	int want = passes_of(c->ip, at + 1), id, nid;
	struct stop_result res;
	char diff[500];

	rewind_to(f->code);
	assert_int_equal(stops_add(s, &counter, &nid), 0);
	assert_int_equal(stops_add(s, c, &id), 0);
	assert_int_equal(stops_run(s, &look, &res), 0);
	if (res.kind != STOPPED_COND || res.conds != 1UL << id)
		fail_msg("%s: kind %d status %#x rip %#lx", what, res.kind, res.stop.status,
			 res.regs.r[X86_RIP]);
	regs_diff(&trace[at], &res.regs, diff, sizeof(diff));
	if (diff[0])
		fail_msg("%s: state: %s", what, diff);
	if (stops_count(s, nid) != (u64)want)
		fail_msg("%s: %lu passes, not %d", what, stops_count(s, nid), want);
	ways[stops_way(s, id)]++;
	stops_remove(s, id);
	run_to_end(s, what);
	want = passes_of(c->ip, n_trace);
	if (stops_count(s, nid) != (u64)want)
		fail_msg("%s: %lu passes in all, not %d", what, stops_count(s, nid), want);
	stops_remove(s, nid);
}

static void each_ip(struct stops *s, const struct fn *f, int at, enum stop_way way)
{
	struct stop_cond c = {.ip = trace[at].r[X86_RIP]};
	int first = at;
	char what[100];

	snprintf(what, sizeof(what), "%s: %s: +%ld: ", stop_way_names[way], f->name,
		 c.ip - (u64)f->code);
#define WHAT(kind) (strcpy(strrchr(what, ':'), ": " kind), what)
	c.pass = passes_of(c.ip, at + 1);
	expect_at(s, f, &c, at, WHAT("pass"));
	c.pass = 0;
	c.match_regs = true;
	c.regs = trace[at];
	for (int i = at; i >= 0; i--)
		if (regs_equal(&trace[i], &trace[at]) && !trace_same[i])
			first = i;
	expect_at(s, f, &c, first, WHAT("registers"));
	c.n_words = 1;
	c.words[0] = (struct point_word){(u64)data, trace_word[at]};
	for (int i = at; i >= 0; i--)
		if (regs_equal(&trace[i], &trace[at]) && trace_word[i] == trace_word[at] &&
		    !trace_same[i])
			first = i;
	expect_at(s, f, &c, first, WHAT("words"));
}

static void all_ips(enum stop_way way)
{
	struct stops *s;

	memset(ways, 0, sizeof(ways));
	child_start();
	assert_int_equal(stops_new(&s, child, way), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fns); i++) {
		learn(&fns[i], s);
		for (int at = 0; at < n_trace; at++) {
			u64 ip = trace[at].r[X86_RIP];
			int p = passes_of(ip, at + 1), all = passes_of(ip, n_trace);

			/* In the operand of another instruction that runs, too:
			 * nothing can be put there. */
			if (memrchr((const void *)(ip - 4), 0xb9, 4))
				continue;
			/* The pass in the middle of each instruction's passes. */
			if (p == (all + 1) / 2 && !trace_same[at])
				each_ip(s, &fns[i], at, way);
		}
	}
	print_message("%s served %d, %s %d\n", stop_way_names[way], ways[way],
		      stop_way_names[STOP_PTRACE], ways[STOP_PTRACE]);
	/* It is the way asked for that was tested. */
	assert_true(ways[way] > ways[STOP_PTRACE] || way == STOP_PTRACE);
	stops_free(s);
	child_end();
}

static void test_ptrace(void **state)
{
	all_ips(STOP_PTRACE);
}

static void test_trampoline(void **state)
{
	all_ips(STOP_TRAMPOLINE);
}

static void test_bpf(void **state)
{
	if (bpf_works())
		all_ips(STOP_BPF);
}

static void test_plain_breakpoints(void **state)
{
	struct stop_cond c = {0};
	struct stops_run_opts on = {0};
	struct stop_result res;
	struct stops *s;
	int id[10], n = 0;
	u8 byte;

	child_start();
	assert_int_equal(stops_new(&s, child, STOP_AUTO), 0);
	learn(&fns[1], s);
	rewind_to(fns[1].code);
	for (int at = 0; n < 8; at++) {
		c.ip = trace[at].r[X86_RIP];
		if (passes_of(c.ip, at + 1) == 1)
			assert_int_equal(stops_add(s, &c, &id[n++]), 0);
	}
	for (int at = 1; at < n_trace; at++) {
		bool armed = false;

		for (int i = 0; i < 8; i++)
			armed |= trace[i].r[X86_RIP] == trace[at].r[X86_RIP];
		if (!armed)
			continue;
		assert_int_equal(stops_run(s, &on, &res), 0);
		assert_int_equal(res.kind, STOPPED_COND);
		assert_true(regs_equal(&res.regs, &trace[at]));
		assert_int_equal(stops_read(s, res.regs.r[X86_RIP], &byte, 1), 0);
		assert_int_equal(byte, *(const u8 *)res.regs.r[X86_RIP]);
	}
	run_to_end(s, "plain");
	/* Clean: the bytes are the program's own. */
	assert_int_equal(stops_clean(s), 0);
	for (int i = 0; i < n_trace; i++) {
		assert_int_equal(tracee_read(child, trace[i].r[X86_RIP], &byte, 1), 0);
		assert_int_equal(byte, *(const u8 *)trace[i].r[X86_RIP]);
	}
	stops_free(s);
	child_end();
}

/* Looking twice at one arrival counts it once and tells it once. */
static void test_look_here(void **state)
{
	struct stop_cond c = {.ip = (u64)f_tight, .pass = 1};
	struct stops_run_opts look = {.look_here = true};
	struct stop_result res;
	struct stops *s;
	int id;

	child_start();
	assert_int_equal(stops_new(&s, child, STOP_AUTO), 0);
	rewind_to(f_tight);
	assert_int_equal(stops_add(s, &c, &id), 0);
	assert_int_equal(stops_run(s, &look, &res), 0);
	assert_int_equal(res.kind, STOPPED_COND);
	assert_int_equal(stops_count(s, id), 1);
	/* It has been told: a second look goes on. */
	assert_int_equal(stops_run(s, &look, &res), 0);
	assert_true(is_end(&res));
	assert_int_equal(stops_count(s, id), 1);
	stops_free(s);
	child_end();
}

static void test_watch(void **state)
{
	struct stops_run_opts on = {0}, step = {.step = true};
	struct stop_cond c = {.ip = (u64)f_memory + 2};
	struct stop_result res;
	struct stops *s;
	int w, id, x;
	u32 v;

	child_start();
	assert_int_equal(stops_new(&s, child, STOP_AUTO), 0);
	rewind_to(f_memory);
	assert_int_equal(stops_watch(s, WATCH_WRITE, (u64)data, 4, &w), 0);
	for (int i = 1; i <= 20; i++) {
		assert_int_equal(stops_run(s, &on, &res), 0);
		assert_int_equal(res.kind, STOPPED_WATCH);
		assert_int_equal(res.watch, w);
		assert_int_equal(res.regs.r[X86_RIP], (u64)f_memory + 2);
		assert_int_equal(tracee_read(child, (u64)data, &v, 4), 0);
		assert_int_equal(v, i);
	}
	assert_int_equal(stops_run(s, &on, &res), 0);
	assert_true(is_end(&res));
	/* A condition where the watch fires: the watch first, both told. */
	rewind_to(f_memory);
	assert_int_equal(stops_add(s, &c, &id), 0);
	assert_int_equal(stops_run(s, &on, &res), 0);
	assert_int_equal(res.kind, STOPPED_WATCH);
	assert_int_equal(res.conds, 1UL << id);
	assert_int_equal(stops_count(s, id), 1);
	assert_int_equal(stops_run(s, &on, &res), 0);
	assert_int_equal(res.kind, STOPPED_WATCH);
	stops_remove(s, id);
	/* A step over the access. */
	assert_int_equal(stops_run(s, &step, &res), 0);
	assert_int_equal(res.kind, STOPPED_STEP);
	assert_int_equal(stops_run(s, &step, &res), 0);
	assert_int_equal(res.kind, STOPPED_STEP);
	assert_int_equal(stops_run(s, &step, &res), 0);
	assert_int_equal(res.kind, STOPPED_WATCH);
	stops_unwatch(s, w);
	/* Reads too; and an execution watch. */
	assert_int_equal(stops_watch(s, WATCH_READWRITE, (u64)data, 4, &w), 0);
	assert_int_equal(stops_run(s, &on, &res), 0);
	assert_int_equal(res.kind, STOPPED_WATCH);
	assert_int_equal(res.regs.r[X86_RIP], (u64)f_memory + 5);
	stops_unwatch(s, w);
	assert_int_equal(stops_watch(s, WATCH_EXEC, (u64)f_memory + 5, 1, &x), 0);
	assert_int_equal(stops_run(s, &on, &res), 0);
	assert_int_equal(res.kind, STOPPED_WATCH);
	assert_int_equal(res.watch, x);
	assert_int_equal(res.regs.r[X86_RIP], (u64)f_memory + 5);
	for (int i = 0; i < 4; i++)
		assert_int_equal(stops_watch(s, WATCH_WRITE, (u64)data + 8 * i, 8, &w), 0);
	assert_int_equal(stops_watch(s, WATCH_WRITE, (u64)data, 1, &w), -ENOSPC);
	assert_int_equal(stops_watch(s, WATCH_WRITE, (u64)data + 1, 4, &w), -EINVAL);
	stops_free(s);
	child_end();
}

/* An endless loop that changes nothing ends with the budget, and nothing of
 * the interruption is left for later runs. */
/* Steps through code that is armed all over see what they see without. */
static void steps(enum stop_way way)
{
	struct stops_run_opts step = {.step = true};
	struct stop_result res;
	struct stops *s;
	int id[64], n;

	child_start();
	assert_int_equal(stops_new(&s, child, way), 0);
	for (size_t f = 0; f < ARRAY_SIZE(fns); f++) {
		struct stop_cond c = {.count_only = true};

		learn(&fns[f], s);
		rewind_to(fns[f].code);
		n = 0;
		for (int at = 0; at < n_trace && n < 40; at++) {
			c.ip = trace[at].r[X86_RIP];
			if (!trace_same[at] && passes_of(c.ip, at + 1) == 1 && at % 3)
				assert_int_equal(stops_add(s, &c, &id[n++]), 0);
		}
		for (int at = 1; at < n_trace; at++) {
			assert_int_equal(stops_run(s, &step, &res), 0);
			assert_int_equal(res.kind, STOPPED_STEP);
			if (!regs_equal(&res.regs, &trace[at]))
				fail_msg("%s: %s: step %d", stop_way_names[way],
					 fns[f].name, at);
		}
		while (n)
			stops_remove(s, id[--n]);
	}
	stops_free(s);
	child_end();
}

static void test_steps(void **state)
{
	steps(STOP_PTRACE);
	steps(STOP_TRAMPOLINE);
	if (bpf_works())
		steps(STOP_BPF);
}

/* Is @at the middle one of its instruction's passes? */
static bool is_middle(int at)
{
	u64 ip = trace[at].r[X86_RIP];

	return !trace_same[at] &&
	       passes_of(ip, at + 1) == (passes_of(ip, n_trace) + 1) / 2 &&
	       !memrchr((const void *)(ip - 4), 0xb9, 4);
}

/* On each instruction a condition, on some two. What is wanted where. */
static void add_many(struct stops *s, u64 want[MAX_TRACE])
{
	int n = 0, id;

	for (int at = 0; at < n_trace && n < 50; at++) {
		struct stop_cond c = {.ip = trace[at].r[X86_RIP]};

		if (!is_middle(at))
			continue;
		c.pass = passes_of(c.ip, at + 1);
		assert_int_equal(stops_add(s, &c, &id), 0);
		want[at] |= 1UL << id;
		if (++n % 3)
			continue;
		c.match_regs = true;
		c.ignore = ~0u;
		assert_int_equal(stops_add(s, &c, &id), 0);
		want[at] |= 1UL << id;
		n++;
	}
}

/* Windows run into one another; still all is met in the order of the truth. */
static void many(enum stop_way way, const struct fn *f)
{
	struct stops_run_opts o = {.look_here = true};
	static u64 want[MAX_TRACE];
	struct stop_result res;
	struct stops *s;

	memset(want, 0, sizeof(want));
	assert_int_equal(stops_new(&s, child, way), 0);
	learn(f, s);
	add_many(s, want);
	rewind_to(f->code);
	for (int at = 0; at < n_trace; at++) {
		if (!want[at])
			continue;
		assert_int_equal(stops_run(s, &o, &res), 0);
		if (res.kind != STOPPED_COND || res.conds != want[at] ||
		    !regs_equal(&res.regs, &trace[at]))
			fail_msg("%s: %s: +%ld: kind %d at +%ld, conditions %#lx not %#lx",
				 stop_way_names[way], f->name,
				 trace[at].r[X86_RIP] - (u64)f->code, res.kind,
				 res.regs.r[X86_RIP] - (u64)f->code, res.conds, want[at]);
		o.look_here = false;
	}
	run_to_end(s, f->name);
	stops_free(s);
}

static void test_many(void **state)
{
	bool bpf = bpf_works();

	child_start();
	for (size_t i = 0; i < ARRAY_SIZE(fns); i++) {
		many(STOP_TRAMPOLINE, &fns[i]);
		many(STOP_PTRACE, &fns[i]);
		if (bpf)
			many(STOP_BPF, &fns[i]);
	}
	child_end();
}

/* A word that cannot be read does not hold; the program does not notice. */
static void words_unreadable(enum stop_way way)
{
	struct stop_cond c = {.ip = (u64)f_memory, .n_words = 1};
	struct stops_run_opts look = {.look_here = true};
	struct stop_result res;
	struct stops *s;
	int id;

	child_start();
	assert_int_equal(stops_new(&s, child, way), 0);
	learn(&(struct fn){"memory", f_memory}, s);
	rewind_to(f_memory);
	c.words[0] = (struct point_word){0x10, 7};
	assert_int_equal(stops_add(s, &c, &id), 0);
	assert_int_equal(stops_run(s, &look, &res), 0);
	assert_true(is_end(&res));
	result_check(&truth, "unreadable word");
	assert_int_equal(stops_count(s, id), 0);
	stops_free(s);
	child_end();
}

static void test_words_unreadable(void **state)
{
	words_unreadable(STOP_PTRACE);
	words_unreadable(STOP_TRAMPOLINE);
	if (bpf_works())
		words_unreadable(STOP_BPF);
}

static void test_budget(void **state)
{
	struct stops_run_opts o = {.budget_ns = 2 * NSEC_PER_MSEC}, on = {0};
	struct stop_result res;
	struct stops *s;

	child_start();
	assert_int_equal(stops_new(&s, child, STOP_AUTO), 0);
	for (int i = 0; i < 50; i++) {
		u64 t = now_ns();

		rewind_to(f_spin);
		o.budget_ns = (i % 5) * 100000 + 20000;
		assert_int_equal(stops_run(s, &o, &res), 0);
		assert_int_equal(res.kind, STOPPED_TIME);
		assert_true(now_ns() - t >= o.budget_ns);
		rewind_to(f_tight);
		assert_int_equal(stops_run(s, &on, &res), 0);
		assert_true(is_end(&res));
	}
	/* A budget that ends about when the function does, either way round. */
	for (int i = 0; i < 200; i++) {
		s64 ret;

		rewind_to(f_strings);
		o.budget_ns = 1000 + i * 97;
		assert_int_equal(stops_run(s, &o, &res), 0);
		assert_true(is_end(&res) || res.kind == STOPPED_TIME);
		assert_int_equal(tracee_syscall(child, &ret, 39, 0, 0, 0, 0, 0, 0), 0);
		assert_int_equal(ret, child);
	}
	stops_free(s);
	child_end();
}

static void rewind_longer(u64 turns)
{
	struct regs r;

	rewind_to(f_longer);
	assert_int_equal(tracee_get_regs(child, &r), 0);
	r.r[X86_RSI] = turns;
	assert_int_equal(tracee_set_regs(child, &r), 0);
}

/* Conditions of all kinds all over @f, and a stop every few microseconds. */
static void interrupted(enum stop_way way, u64 turns)
{
	static const u8 at[] = {9, 12, 17, 21, 24, 29, 34, 35, 36, 37, 38, 44, 48, 50};
	struct stops_run_opts on = {0}, o = {0};
	int never[ARRAY_SIZE(at)], all[ARRAY_SIZE(at)], once[ARRAY_SIZE(at)];
	struct stop_result res;
	struct stops *s;
	u64 n = 0;

	child_start();
	assert_int_equal(stops_new(&s, child, way), 0);
	rewind_longer(turns);
	assert_int_equal(stops_run(s, &on, &res), 0);
	assert_true(is_end(&res));
	result_get(&truth);
	rewind_longer(turns);
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		struct stop_cond c = {.ip = (u64)f_longer + at[i], .match_regs = true};

		assert_int_equal(stops_add(s, &c, &never[i]), 0);
		c.count_only = true;
		c.ignore = ~(1u << X86_RBX);
		c.regs.r[X86_RBX] = 1000 + i;
		assert_int_equal(stops_add(s, &c, &once[i]), 0);
		c.match_regs = false;
		if (i % 2)
			assert_int_equal(stops_add(s, &c, &all[i]), 0);
	}
	for (;; n++) {
		o.budget_ns = n < 400 ? 10000 + random() % 10000 : 0;
		assert_int_equal(stops_run(s, &o, &res), 0);
		if (res.kind != STOPPED_TIME)
			break;
		if (res.regs.r[X86_RIP] < (u64)f_longer ||
		    res.regs.r[X86_RIP] > (u64)f_longer + 100)
			fail_msg("stopped at %#lx, not in the program",
				 res.regs.r[X86_RIP]);
	}
	print_message("%s: interrupted %lu times\n", stop_way_names[way], n);
	assert_true(is_end(&res));
	result_check(&truth, "interrupted");
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		assert_int_equal(stops_count(s, never[i]), 0);
		assert_int_equal(stops_count(s, once[i]), 1);
		if (i % 2)
			assert_int_equal(stops_count(s, all[i]), turns);
	}
	stops_free(s);
	child_end();
}

static void test_interrupted(void **state)
{
	interrupted(STOP_TRAMPOLINE, 150000);
	interrupted(STOP_PTRACE, 1020);
	if (bpf_works())
		interrupted(STOP_BPF, 1020);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ptrace),
		cmocka_unit_test(test_trampoline),
		cmocka_unit_test(test_bpf),
		cmocka_unit_test(test_plain_breakpoints),
		cmocka_unit_test(test_look_here),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_words_unreadable),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
