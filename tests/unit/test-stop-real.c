// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Library code as it is: a child sorts, hashes, prints and compresses. It is
 * interrupted wherever it is; another child must then be found at that state
 * by its registers, and a third by the number of the pass, whichever way looks
 * for it, and what they compute afterwards must be what it is undisturbed.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>
#define ZSTD_STATIC_LINKING_ONLY
#include <xxhash.h>
#include <zstd.h>

#include "stop/stop.h"
#include "tests/unit/stop-child.h"

#define TRIALS	 16
#define SLOW_MAX 1500 /* passes that the slow ways are asked to count */

/* No malloc in there: the heap of this test is not the same at every fork. */
static struct arena {
	u32 numbers[30000];
	char text[150000];
	u8 packed[200000];
	u8 work[1 << 21];
	u64 hash;
} arena __attribute__((aligned(4096)));
static u8 stack[1 << 18] __attribute__((aligned(4096)));

static void sort(u32 *v, size_t n)
{
	for (size_t gap = n / 2; gap; gap /= 2)
		for (size_t i = gap; i < n; i++)
			for (size_t k = i; k >= gap && v[k - gap] > v[k]; k -= gap) {
				u32 x = v[k];

				v[k] = v[k - gap];
				v[k - gap] = x;
			}
}

static u32 depth(u32 n)
{
	return n < 2 ? n : depth(n - 1) + depth(n - 2);
}

static void workload(void)
{
	size_t at = 0, n;
	ZSTD_CCtx *c;
	u32 x = 1;

	for (size_t i = 0; i < ARRAY_SIZE(arena.numbers); i++)
		arena.numbers[i] = x = x * 1664525 + 1013904223;
	sort(arena.numbers, ARRAY_SIZE(arena.numbers));
	for (size_t i = 0; at < sizeof(arena.text) - 64; i += 3)
		at += snprintf(arena.text + at, 64, "%u %g %s\n", arena.numbers[i % 30000],
			       arena.numbers[i % 30000] / 7.0,
			       strchr("abcdefgh", 'a' + i % 8));
	arena.hash = XXH64(arena.text, at, depth(22));
	c = ZSTD_initStaticCCtx(arena.work, sizeof(arena.work));
	n = ZSTD_compressCCtx(c, arena.packed, sizeof(arena.packed), arena.text, at, 1);
	arena.hash ^= XXH64(arena.packed, n, n);
	asm volatile("int3");
}

/* All are copies of the first: the test's own memory changes. */
static pid_t first;

static void copy_first(void)
{
	struct tracee_stop st;
	s64 pid;

	assert_int_equal(tracee_syscall(first, &pid, SYS_clone, SIGCHLD, 0, 0, 0, 0, 0), 0);
	child = pid;
	assert_true(child > 0);
	assert_int_equal(tracee_wait(child, 0, &st), 0);
	assert_int_equal(st.event, PTRACE_EVENT_STOP);
}

static struct stops *begin(enum stop_way way)
{
	struct stops *s;
	struct regs r;

	copy_first();
	assert_int_equal(tracee_get_regs(child, &r), 0);
	for (int i = X86_RAX; i <= X86_R15; i++)
		r.r[i] = i;
	r.r[X86_RSP] = (u64)stack + sizeof(stack) - 4096 - 8;
	r.r[X86_RIP] = (u64)workload;
	r.r[X86_EFLAGS] = 0x202;
	r.r[X86_ORIG_RAX] = -1;
	assert_int_equal(tracee_set_regs(child, &r), 0);
	assert_int_equal(stops_new(&s, child, way), 0);
	return s;
}

static void end(struct stops *s)
{
	stops_free(s);
	child_end();
}

static struct regs end_regs;
static u64 end_hash;

static u64 child_hash(void)
{
	static struct arena copy;

	assert_int_equal(tracee_read(child, (u64)&arena, &copy, sizeof(copy)), 0);
	return XXH64(&copy, sizeof(copy), 0);
}

static void check_end(struct stops *s, const char *what)
{
	struct stops_run_opts on = {0};
	struct stop_result res;
	char diff[400];

	assert_int_equal(stops_run(s, &on, &res), 0);
	if (!is_end(&res))
		fail_msg("%s: kind %d status %#x at %#lx", what, res.kind, res.stop.status,
			 res.regs.r[X86_RIP]);
	regs_diff(&end_regs, &res.regs, diff, sizeof(diff));
	if (diff[0])
		fail_msg("%s: at the end %s", what, diff);
	if (child_hash() != end_hash)
		fail_msg("%s: memory at the end", what);
}

static int read_child(void *ctx, u64 addr, void *buf, size_t n)
{
	return stops_read(ctx, addr, buf, n) ? -EFAULT : 0;
}

/* Some state on the way, or false. */
static bool somewhere(struct regs *r, struct print *p, u64 ns)
{
	struct stops_run_opts o = {.budget_ns = ns};
	struct stops *s = begin(STOP_AUTO);
	struct stop_result res;
	u8 b[2];
	bool ok;

	assert_int_equal(stops_run(s, &o, &res), 0);
	*r = res.regs;
	assert_int_equal(stops_read(s, r->r[X86_RIP], b, 2), 0);
	assert_int_equal(print_compute(p, r, NULL, read_child, s), 0);
	/* Inside a rep instruction is no arrival. */
	ok = res.kind == STOPPED_TIME && b[0] != 0xf3 && b[0] != 0xf2;
	end(s);
	return ok;
}

/* Find @r by registers: how many passes were there? */
static u64 find(enum stop_way way, const struct regs *r)
{
	struct stop_cond c = {.ip = r->r[X86_RIP], .match_regs = true, .regs = *r};
	struct stop_cond all = {.ip = r->r[X86_RIP], .count_only = true};
	struct stops_run_opts look = {.look_here = true};
	struct stops *s = begin(way);
	struct stop_result res;
	int id, counter;
	u64 k;

	assert_int_equal(stops_add(s, &all, &counter), 0);
	assert_int_equal(stops_add(s, &c, &id), 0);
	assert_int_equal(stops_run(s, &look, &res), 0);
	if (res.kind != STOPPED_COND || !regs_equal(&res.regs, r))
		fail_msg("%s: registers at %#lx not found: kind %d status %#x at %#lx",
			 stop_way_names[way], c.ip, res.kind, res.stop.status,
			 res.regs.r[X86_RIP]);
	k = stops_count(s, counter);
	stops_remove(s, id);
	check_end(s, stop_way_names[way]);
	end(s);
	return k;
}

static void find_pass(enum stop_way way, const struct regs *r, u64 k)
{
	struct stop_cond c = {.ip = r->r[X86_RIP], .pass = k};
	struct stops_run_opts look = {.look_here = true};
	struct stops *s = begin(way);
	struct stop_result res;
	char diff[400];
	int id;

	assert_int_equal(stops_add(s, &c, &id), 0);
	assert_int_equal(stops_run(s, &look, &res), 0);
	assert_int_equal(res.kind, STOPPED_COND);
	regs_diff(r, &res.regs, diff, sizeof(diff));
	if (diff[0])
		fail_msg("%s: pass %lu over %#lx: %s", stop_way_names[way], k, c.ip, diff);
	stops_remove(s, id);
	check_end(s, stop_way_names[way]);
	end(s);
}

/* With its print as a help: it must not be passed over, and no place that
 * differs in what the task can compare is worth a stop. */
static void find_print(const struct regs *r, const struct print *p, u64 k, u64 *misses)
{
	struct stop_cond c = {.ip = r->r[X86_RIP],
			      .match_regs = true,
			      .regs = *r,
			      .has_print = true,
			      .print = *p};
	struct stop_cond all = {.ip = r->r[X86_RIP], .count_only = true};
	struct stops_run_opts o = {.look_here = true};
	struct point point = {.regs = *r, .print = *p};
	struct stops *s = begin(STOP_AUTO);
	struct stop_result res;
	int id, counter, same;

	assert_int_equal(stops_add(s, &all, &counter), 0);
	assert_int_equal(stops_add(s, &c, &id), 0);
	for (;; o.look_here = false) {
		assert_int_equal(stops_run(s, &o, &res), 0);
		if (res.kind != STOPPED_COND || !regs_equal(&res.regs, r))
			fail_msg("print at %#lx passed over: kind %d at %#lx", c.ip,
				 res.kind, res.regs.r[X86_RIP]);
		same = point_matches(&point, &res.regs, read_child, s);
		if (same)
			break;
		++*misses;
	}
	assert_int_equal(same, 1);
	/* Not before the first place with these registers. */
	assert_true(stops_count(s, counter) >= k);
	stops_remove(s, id);
	check_end(s, "print");
	end(s);
}

static void test_real(void **state)
{
	struct stops_run_opts on = {0};
	struct stop_result res;
	struct stops *s;
	bool bpf = bpf_works();
	int found = 0, slow = 0;
	u64 misses = 0;
	u64 took;

	child_start();
	first = child;
	assert_int_equal(
		ptrace(PTRACE_SETOPTIONS, first, 0,
		       PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK),
		0);
	s = begin(STOP_AUTO);
	took = now_ns();
	assert_int_equal(stops_run(s, &on, &res), 0);
	took = now_ns() - took;
	assert_true(is_end(&res));
	end_regs = res.regs;
	end_hash = child_hash();
	end(s);
	srandom(1);
	for (int i = 0; i < 40 * TRIALS && found < TRIALS; i++) {
		struct print p;
		struct regs r;
		u64 k;

		if (!somewhere(&r, &p, took * (random() % 1000) / 1000 + 1000))
			continue;
		found++;
		k = find(STOP_TRAMPOLINE, &r);
		find_pass(STOP_TRAMPOLINE, &r, k);
		find_print(&r, &p, k, &misses);
		if (k > SLOW_MAX)
			continue;
		slow++;
		find_pass(STOP_PTRACE, &r, k);
		if (bpf)
			find_pass(STOP_BPF, &r, k);
	}
	child = first;
	child_end();
	print_message("%d states, %d of them by the slow ways too, %lu stops at others\n",
		      found, slow, misses);
	assert_int_equal(found, TRIALS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {cmocka_unit_test(test_real)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
