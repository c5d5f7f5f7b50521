/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stop-truth.h - what a function passes through and leaves behind, learned by
 * stepping it.
 */
#ifndef PLAYHEAD_TESTS_STOP_TRUTH_H
#define PLAYHEAD_TESTS_STOP_TRUTH_H

#include "tests/unit/stop-child.h"
#include "tests/unit/stop-fns.h"

#define MAX_TRACE 4000

static struct regs start_regs(const char *code)
{
	struct regs r;

	assert_int_equal(tracee_get_regs(child, &r), 0);
	for (int i = X86_RAX; i <= X86_R15; i++)
		r.r[i] = 0x1000 + i;
	r.r[X86_RDI] = (u64)data;
	r.r[X86_RSP] = (u64)stack + sizeof(stack) - 256;
	r.r[X86_RIP] = (u64)code;
	r.r[X86_EFLAGS] = 0x202;
	r.r[X86_ORIG_RAX] = -1;
	return r;
}

/* Put the child at the start of @code with fresh data. */
static void rewind_to(const char *code)
{
	static const u8 zero[DATA_SIZE];
	struct regs r = start_regs(code);

	assert_int_equal(tracee_write(child, (u64)data, zero, sizeof(zero)), 0);
	assert_int_equal(tracee_write(child, (u64)stack + sizeof(stack) - 4096, zero, 4096),
			 0);
	assert_int_equal(tracee_set_regs(child, &r), 0);
}

struct result {
	struct regs regs;
	u8 data[DATA_SIZE], stack[4096];
};

static void result_get(struct result *r)
{
	assert_int_equal(tracee_get_regs(child, &r->regs), 0);
	assert_int_equal(tracee_read(child, (u64)data, r->data, DATA_SIZE), 0);
	assert_int_equal(
		tracee_read(child, (u64)stack + sizeof(stack) - 4096, r->stack, 4096), 0);
}

static void result_check(const struct result *want, const char *what)
{
	static struct result got;
	char diff[500];

	result_get(&got);
	regs_diff(&want->regs, &got.regs, diff, sizeof(diff));
	if (diff[0])
		fail_msg("%s: registers at the end: %s", what, diff);
	if (memcmp(got.data, want->data, DATA_SIZE))
		fail_msg("%s: memory at the end", what);
	if (memcmp(got.stack, want->stack, sizeof(got.stack)))
		fail_msg("%s: stack at the end, below rsp included", what);
}

/* The truth about one function. */
static struct regs trace[MAX_TRACE];
static u64 trace_word[MAX_TRACE];
static bool trace_same[MAX_TRACE]; /* a further iteration of a rep */
static int n_trace;
static struct result truth;

static bool is_rep(u64 ip)
{
	u8 b[2];

	assert_int_equal(tracee_read(child, ip, b, 2), 0);
	return b[0] == 0xf3 &&
	       ((b[1] & 0xfe) == 0xaa || (b[1] & 0xfe) == 0xa4 || b[1] == 0x48);
}

static void learn(const struct fn *f, struct stops *s)
{
	struct stops_run_opts step = {.step = true};
	struct stop_result res;

	rewind_to(f->code);
	n_trace = 0;
	for (;;) {
		assert_true(n_trace < MAX_TRACE);
		assert_int_equal(tracee_get_regs(child, &trace[n_trace]), 0);
		assert_int_equal(tracee_read(child, (u64)data, &trace_word[n_trace], 8), 0);
		trace_same[n_trace] =
			n_trace &&
			trace[n_trace].r[X86_RIP] == trace[n_trace - 1].r[X86_RIP] &&
			is_rep(trace[n_trace].r[X86_RIP]);
		n_trace++;
		assert_int_equal(stops_run(s, &step, &res), 0);
		if (is_end(&res))
			break;
		assert_int_equal(res.kind, STOPPED_STEP);
	}
	n_trace--; /* the int3 itself */
	result_get(&truth);
}

static int passes_of(u64 ip, int upto)
{
	int n = 0;

	for (int i = 0; i < upto; i++)
		n += trace[i].r[X86_RIP] == ip && !trace_same[i];
	return n;
}

static void run_to_end(struct stops *s, const char *what)
{
	struct stops_run_opts on = {0};
	struct stop_result res;

	assert_int_equal(stops_run(s, &on, &res), 0);
	if (!is_end(&res))
		fail_msg("%s: stop kind %d status %#x rip %#lx conds %#lx, not the end",
			 what, res.kind, res.stop.status, res.regs.r[X86_RIP], res.conds);
	result_check(&truth, what);
}

#endif
