// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Watchpoints and conditions at a time: the functions of test-stop.c run with
 * some memory watched, while passes are counted all over them. Trampolines must
 * stop where breakpoints stop, in the same order.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "stop/stop.h"
#include "tests/unit/stop-truth.h"

#define MAX_STOPS 3000
#define STACK_TOP ((u64)stack + sizeof(stack) - 256)

struct seen {
	enum stop_result_kind kind;
	int watch;
	u64 conds;
	struct regs regs;
};

static struct log {
	struct seen v[MAX_STOPS];
	int n;
	u64 counts[STOPS_MAX_CONDS];
	int ways[NR_STOP_WAYS];
} truth_log, other;

struct watched {
	enum watch_kind kind;
	u64 addr;
	u32 len;
};

static const struct watched watched[] = {
	{WATCH_WRITE,     (u64)data,	 8},
	      {WATCH_READWRITE, (u64)data,	   8},
	{WATCH_READWRITE, (u64)data + 8,	 8},
	      {WATCH_READWRITE, (u64)data + 64, 8},
	{WATCH_WRITE,     (u64)data + 65, 1},
	      {WATCH_WRITE,	    STACK_TOP - 8,  8},
	{WATCH_WRITE,     STACK_TOP - 4,  4},
	      {WATCH_READWRITE, STACK_TOP - 8,  4},
	{WATCH_READWRITE, STACK_TOP - 16, 8},
};

/* Every @every-th instruction that runs is counted, at some of its passes the
 * run stops, at some only with a word that may be watched. */
static int add_conds(struct stops *s, int every)
{
	int n = 0, id;

	for (int at = 0; at < n_trace && n + 2 < 40; at++) {
		struct stop_cond c = {.ip = trace[at].r[X86_RIP]};

		if (trace_same[at] || passes_of(c.ip, at + 1) != 1 || at % every ||
		    memrchr((const void *)(c.ip - 4), 0xb9, 4))
			continue;
		c.count_only = true;
		assert_int_equal(stops_add(s, &c, &id), 0);
		c.count_only = false;
		c.pass = (passes_of(c.ip, n_trace) + 1) / 2;
		assert_int_equal(stops_add(s, &c, &id), 0);
		c.pass = 1;
		c.n_words = 1;
		c.words[0] = (struct point_word){(u64)data, trace_word[at]};
		assert_int_equal(stops_add(s, &c, &id), 0);
		n += 3;
	}
	return n;
}

static void run_all(const struct fn *f, const struct watched *w, int every,
		    enum stop_way way, struct log *log)
{
	struct stops_run_opts on = {0};
	struct stop_result res;
	struct stops *s;
	int id, n;

	assert_int_equal(stops_new(&s, child, way), 0);
	n = add_conds(s, every);
	assert_int_equal(stops_watch(s, w->kind, w->addr, w->len, &id), 0);
	rewind_to(f->code);
	for (log->n = 0;; log->n++) {
		struct seen *v = &log->v[log->n];

		assert_true(log->n < MAX_STOPS);
		memset(v, 0, sizeof(*v));
		assert_int_equal(stops_run(s, &on, &res), 0);
		*v = (struct seen){res.kind, res.watch, res.conds, res.regs};
		if (res.kind != STOPPED_COND && res.kind != STOPPED_WATCH)
			break;
	}
	if (!is_end(&res))
		fail_msg("%s: %s: kind %d at %#lx", stop_way_names[way], f->name, res.kind,
			 res.regs.r[X86_RIP]);
	result_check(&truth, f->name);
	for (int i = 0; i < n; i++) {
		log->counts[i] = stops_count(s, i);
		log->ways[stops_way(s, i)]++;
	}
	stops_free(s);
}

static void compare(const char *name, const struct watched *w, int every)
{
	char what[200], diff[500];

	snprintf(what, sizeof(what), "%s, every %d, watch %d +%ld/%u", name, every, w->kind,
		 w->addr - (u64)data, w->len);
	for (int i = 0; i < truth_log.n && i < other.n; i++) {
		const struct seen *a = &truth_log.v[i], *b = &other.v[i];

		regs_diff(&a->regs, &b->regs, diff, sizeof(diff));
		if (a->kind != b->kind || a->watch != b->watch || a->conds != b->conds ||
		    diff[0])
			fail_msg("%s: stop %d: kind %d %d, watch %d %d, conds %#lx %#lx, "
				 "at %#lx %#lx: %s",
				 what, i, a->kind, b->kind, a->watch, b->watch, a->conds,
				 b->conds, a->regs.r[X86_RIP] - trace[0].r[X86_RIP],
				 b->regs.r[X86_RIP] - trace[0].r[X86_RIP], diff);
	}
	if (truth_log.n != other.n)
		fail_msg("%s: %d stops, not %d", what, other.n, truth_log.n);
	if (memcmp(truth_log.counts, other.counts, sizeof(other.counts)))
		fail_msg("%s: other counts", what);
}

static void compare_ways(enum stop_way way)
{
	struct stops *s;
	int stops = 0;

	child_start();
	assert_int_equal(stops_new(&s, child, STOP_PTRACE), 0);
	memset(other.ways, 0, sizeof(other.ways));
	for (size_t i = 0; i < ARRAY_SIZE(fns); i++) {
		learn(&fns[i], s);
		rewind_to(fns[i].code);
		run_to_end(s, fns[i].name);
		assert_int_equal(stops_clean(s), 0);
		for (size_t k = 0; k < ARRAY_SIZE(watched); k++) {
			for (int every = 1; every < 4; every++) {
				memset(truth_log.counts, 0, sizeof(truth_log.counts));
				memset(other.counts, 0, sizeof(other.counts));
				run_all(&fns[i], &watched[k], every, STOP_PTRACE,
					&truth_log);
				run_all(&fns[i], &watched[k], every, way, &other);
				compare(fns[i].name, &watched[k], every);
				stops += other.n;
			}
		}
	}
	print_message("%d stops; %s served %d, ptrace %d\n", stops, stop_way_names[way],
		      other.ways[way], other.ways[STOP_PTRACE]);
	stops_free(s);
	child_end();
}

static void test_watch_and_trampolines(void **state)
{
	compare_ways(STOP_TRAMPOLINE);
	assert_true(other.ways[STOP_TRAMPOLINE] > other.ways[STOP_PTRACE]);
}

static void test_watch_and_bpf(void **state)
{
	if (bpf_works())
		compare_ways(STOP_BPF);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watch_and_trampolines),
		cmocka_unit_test(test_watch_and_bpf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
