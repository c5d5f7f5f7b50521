/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sampler-print.c - what the samplers say of a running thread, against the
 * thread itself, stopped: one that stands still in `jmp .` with known
 * registers and memory has one print, whoever computes it.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "sample/sampler.h"
#include "bpf/print-hash.h"
#include "tracee/tracee.h"

#define HZ 2000

/*
 * Load rax .. r15 from @r (enum reg order, rdi last) and stay.
 */
void spin_with(const u64 *r);
extern const char spin_here[];
__asm__(".globl spin_with, spin_here\n"
	"spin_with:\n"
	"	mov 0x00(%rdi), %rax\n"
	"	mov 0x08(%rdi), %rbx\n"
	"	mov 0x10(%rdi), %rcx\n"
	"	mov 0x18(%rdi), %rdx\n"
	"	mov 0x20(%rdi), %rsi\n"
	"	mov 0x30(%rdi), %rbp\n"
	"	mov 0x38(%rdi), %rsp\n"
	"	mov 0x40(%rdi), %r8\n"
	"	mov 0x48(%rdi), %r9\n"
	"	mov 0x50(%rdi), %r10\n"
	"	mov 0x58(%rdi), %r11\n"
	"	mov 0x60(%rdi), %r12\n"
	"	mov 0x68(%rdi), %r13\n"
	"	mov 0x70(%rdi), %r14\n"
	"	mov 0x78(%rdi), %r15\n"
	"	mov 0x28(%rdi), %rdi\n"
	"spin_here:\n"
	"	jmp spin_here\n");

/* Memory of the child: a stack with a hole above, a heap with a hole above. */
#define STACK_PAGES 8
#define HEAP_PAGES  4
static u8 *stack, *heap, *cold;

static u8 *map_at(u64 addr, size_t pages)
{
	void *p = mmap((void *)addr, pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	assert_ptr_equal(p, (void *)addr);
	return p;
}

static int memory_setup(void **state)
{
	stack = map_at(0x200000000000, STACK_PAGES);
	heap = map_at(0x300000000000, HEAP_PAGES);
	cold = map_at(0x310000000000, 2);
	srandom(7);
	for (size_t i = 0; i < STACK_PAGES * PAGE_BYTES; i++)
		stack[i] = random();
	for (size_t i = 0; i < HEAP_PAGES * PAGE_BYTES; i += 8) {
		/* Pointers into the heap and the stack, small and large numbers. */
		u64 kinds[] = {(u64)heap + random() % (HEAP_PAGES * PAGE_BYTES),
			       (u64)stack + random() % (STACK_PAGES * PAGE_BYTES),
			       random() % 100000, (u64)random() << 33};

		memcpy(heap + i, &kinds[random() % ARRAY_SIZE(kinds)], 8);
	}
	return 0;
}

static void child_pin(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* A child that runs @body once it is told to; seized, if it is to be stopped. */
struct child {
	pid_t pid;
	int go;
	bool seized;
};

static struct child child_new(void (*body)(void *), void *arg, bool seize)
{
	int pipefd[2];
	struct child c;
	char byte;

	assert_int_equal(pipe(pipefd), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (!c.pid) {
		child_pin();
		if (read(pipefd[0], &byte, 1) == 1)
			body(arg);
		_exit(0);
	}
	close(pipefd[0]);
	c.go = pipefd[1];
	c.seized = seize;
	if (seize)
		assert_int_equal(ptrace(PTRACE_SEIZE, c.pid, 0, PTRACE_O_EXITKILL), 0);
	return c;
}

static void child_stop(struct child *c)
{
	struct tracee_stop s;

	if (!c->seized) {
		kill(c->pid, SIGSTOP);
		return;
	}
	assert_int_equal(ptrace(PTRACE_INTERRUPT, c->pid, 0, 0), 0);
	assert_int_equal(tracee_wait(c->pid, 0, &s), 0);
	assert_int_equal(s.kind, TRACEE_EVENT);
}

static void child_end(struct child *c)
{
	kill(c->pid, SIGKILL);
	assert_int_equal(waitpid(c->pid, NULL, __WALL), c->pid);
	close(c->go);
}

struct seen {
	struct sample v[4096];
	size_t n;
};

static void seen_add(void *ctx, struct sample *s)
{
	struct seen *seen = ctx;

	if (seen->n < ARRAY_SIZE(seen->v))
		seen->v[seen->n++] = *s;
}

static struct sampler *sampler_of(enum sampler_kind kind, u32 hz)
{
	struct sampler_opts o = {.hz = hz, .at_best = kind, .cpu = 0};
	struct sampler *s;

	assert_int_equal(sampler_new(&s, &o), 0);
	assert_int_equal(sampler_kind(s), kind);
	return s;
}

static void take_due(struct sampler *s, struct child *c, struct seen *seen)
{
	pid_t due;

	if (!sampler_due(s, &due))
		return;
	assert_int_equal(due, c->pid);
	child_stop(c);
	assert_int_equal(sampler_take(s, due, seen_add, seen), 0);
	assert_int_equal(tracee_resume(due, PTRACE_CONT, 0), 0);
}

#define PATIENCE (20 * NSEC_PER_SEC)

/* Let the child run until @want samples are in @seen; it is stopped then. */
static void run_sampled(struct sampler *s, struct child *c, size_t want, struct seen *seen)
{
	u64 end = now_ns() + PATIENCE;

	assert_int_equal(sampler_thread_add(s, c->pid), 0);
	assert_int_equal(write(c->go, "g", 1), 1);
	while (seen->n < want && now_ns() < end) {
		usleep(500);
		take_due(s, c, seen);
		assert_int_equal(sampler_drain(s, seen_add, seen), 0);
	}
	child_stop(c);
	assert_int_equal(sampler_drain(s, seen_add, seen), 0);
	sampler_thread_del(s, c->pid);
}

static int task_read(void *ctx, u64 addr, void *buf, size_t n)
{
	return tracee_read_some(*(pid_t *)ctx, addr, buf, n) == n ? 0 : -EFAULT;
}

static void spin_body(void *arg)
{
	spin_with(arg);
}

/* Registers of a case, as offsets or values; the rest are small numbers. */
struct spin_case {
	const char *name;
	u64 rsp, rax, rdi, rbp, r8, r15;
	/* Validity bits that only the supervisor, which can fault pages in, has. */
	u64 cold;
};

#define STACK 0x200000000000UL
#define HEAP  0x300000000000UL
#define COLD  0x310000000000UL

/* clang-format off */
static const struct spin_case spin_cases[] = {
	{.name = "plain", .rsp = STACK + 0x1678, .rax = HEAP, .rbp = STACK + 0x2000},
	{.name = "page aligned", .rsp = STACK + 0x1000, .rdi = HEAP + 0x800},
	{.name = "odd stack, tagged pointers", .rsp = STACK + 0x1003, .r15 = HEAP + 0x1237},
	{.name = "stack ends after 2 pages", .rsp = STACK + 0x6010, .r8 = HEAP + 0x2000},
	{.name = "stack ends at once", .rsp = STACK + 0x7ff9},
	{.name = "no stack", .rsp = 0x1230, .rax = HEAP + 8},
	{.name = "wild stack", .rsp = ~7UL, .rax = HEAP + 8},
	{.name = "window over the end", .rsp = STACK + 0x1678, .rbp = HEAP + 0x3fd0},
	{.name = "kernel and non-canonical", .rsp = STACK + 0x1678,
	 .rax = 0xffffffff81000000, .rdi = 0x800000000000, .rbp = 0x7ffffffff000},
	{.name = "dead stack", .rsp = STACK + 0x4000, .rax = STACK + 0x3f00,
	 .rdi = STACK + 0x3f80, .rbp = STACK + 0x100},
	{.name = "page not there", .rsp = STACK + 0x1678, .r8 = COLD + 64, .rax = HEAP,
	 .cold = PRINT_VALID_WINDOW(7)},
	{.name = "all", .rsp = STACK + 0x1670, .rax = HEAP, .rdi = HEAP + 0x3fff,
	 .rbp = STACK + 0x1680, .r8 = HEAP + 0x400, .r15 = HEAP + 0x1001},
};
/* clang-format on */

static void spin_regs(const struct spin_case *c, u64 *r)
{
	for (int i = 0; i < 16; i++)
		r[i] = i * 1000 + 1;
	r[X86_RSP] = c->rsp;
	r[X86_RAX] = c->rax;
	r[X86_RDI] = c->rdi;
	r[X86_RBP] = c->rbp;
	r[X86_R8] = c->r8;
	r[X86_R15] = c->r15;
}

static bool same_print(const struct print *a, const struct print *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* The samples of a still thread that are in the loop, each looked at. */
static void check_spin(enum sampler_kind kind, const struct spin_case *sc)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	struct sampler *s = sampler_of(kind, HZ);
	struct print full, valid;
	struct regs now;
	struct child c;
	size_t in_loop = 0;
	u64 r[16];

	assert_non_null(seen);
	spin_regs(sc, r);
	c = child_new(spin_body, r, true);
	run_sampled(s, &c, 30, seen);
	assert_int_equal(tracee_get_regs(c.pid, &now), 0);
	assert_int_equal(now.r[X86_RIP], (u64)spin_here);
	now.r[X86_FS_BASE] = now.r[X86_GS_BASE] = 0;
	for (size_t i = 0; i < seen->n; i++) {
		const struct sample *x = &seen->v[i];
		const struct print *p = &x->point.print;

		assert_int_equal(x->tid, c.pid);
		if (x->kind != SAMPLE_USER || x->point.regs.r[X86_RIP] != (u64)spin_here)
			continue;
		in_loop++;
		assert_true(regs_equal(&x->point.regs, &now));
		assert_int_equal(print_compute(&valid, &now, p->valid, task_read, &c.pid),
				 0);
		assert_true(same_print(p, &valid));
		assert_int_equal(point_matches(&x->point, &now, task_read, &c.pid), 1);
		if (kind == SAMPLER_BPF)
			assert_int_equal(p->valid[0] & sc->cold, 0);
	}
	if (kind == SAMPLER_BPF && in_loop) {
		const struct print *p = &seen->v[seen->n - 1].point.print;

		assert_int_equal(print_compute(&full, &now, NULL, task_read, &c.pid), 0);
		if (!sc->cold)
			assert_true(same_print(p, &full));
		assert_int_equal(p->valid[0] ^ full.valid[0], sc->cold);
	}
	print_message("%-28s %zu samples\n", sc->name, in_loop);
	assert_true(in_loop >= 10);
	assert_int_equal(sampler_lost(s), 0);
	sampler_free(s);
	child_end(&c);
	free(seen);
}

static void still_thread(enum sampler_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(spin_cases); i++)
		check_spin(kind, &spin_cases[i]);
}

static void still_thread_bpf(void **state)
{
	still_thread(SAMPLER_BPF);
}

static void still_thread_perf(void **state)
{
	still_thread(SAMPLER_PERF);
}

static void still_thread_timer(void **state)
{
	still_thread(SAMPLER_TIMER);
}

/* ---- samples in the kernel ---- */

static void syscall_body(void *arg)
{
	static u8 buf[1 << 20];
	int fd = memfd_create("x", MFD_CLOEXEC);

	for (;;)
		if (pwrite(fd, buf, sizeof(buf), 0) < 0)
			_exit(1);
}

static void fault_body(void *arg)
{
	volatile u8 *p;

	for (;;) {
		p = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (size_t i = 0; i < 64 << 20; i += PAGE_BYTES)
			p[i] = 1;
		munmap((void *)p, 64 << 20);
	}
}

static void nothing(int sig)
{
}

static void signal_body(void *arg)
{
	signal(SIGUSR1, nothing);
	for (;;)
		syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
}

/* Does a frame of @s have a name that starts so? */
static bool has_frame(struct sampler *sampler, const struct sample *s, const char *name)
{
	for (u32 i = 0; i < s->n_kernel; i++) {
		const char *k = sampler_ksym(sampler, s->kernel[i]);

		if (k && !strncmp(k, name, strlen(name)))
			return true;
	}
	return false;
}

struct kernel_counts {
	size_t user, syscall, kernel, entry;
};

static struct kernel_counts kernel_run(enum sampler_kind kind, void (*body)(void *))
{
	struct seen *seen = calloc(1, sizeof(*seen));
	struct sampler *s = sampler_of(kind, 5000);
	struct child c = child_new(body, NULL, false);
	struct kernel_counts n = {0};

	assert_non_null(seen);
	run_sampled(s, &c, 500, seen);
	for (size_t i = 0; i < seen->n; i++) {
		const struct sample *x = &seen->v[i];
		bool entry = has_frame(s, x, "entry_SYSCALL_64");

		n.user += x->kind == SAMPLE_USER && !x->n_kernel;
		n.kernel += x->kind == SAMPLE_USER && x->n_kernel;
		n.syscall += x->kind == SAMPLE_SYSCALL;
		n.entry += entry;
		/* A user point is never one that a system call stands behind. */
		if (x->kind == SAMPLE_USER)
			assert_false(entry);
		if (x->kind == SAMPLE_SYSCALL)
			assert_int_equal(x->point.print.valid[0], 0);
	}
	print_message("user %zu, fault %zu, syscall %zu (%zu by name)\n", n.user, n.kernel,
		      n.syscall, n.entry);
	sampler_free(s);
	child_end(&c);
	free(seen);
	return n;
}

static void in_system_calls(void **state)
{
	for (enum sampler_kind k = SAMPLER_BPF; k <= SAMPLER_PERF; k++) {
		struct kernel_counts n = kernel_run(k, syscall_body);

		assert_true(n.syscall >= 100);
		assert_true(n.entry >= 100);
		assert_true(n.syscall > n.user * 10);
	}
}

static void in_page_faults(void **state)
{
	for (enum sampler_kind k = SAMPLER_BPF; k <= SAMPLER_PERF; k++)
		assert_true(kernel_run(k, fault_body).kernel >= 50);
}

/* rt_sigreturn takes orig_rax away while it is still in the kernel. */
static void in_sigreturn(void **state)
{
	for (enum sampler_kind k = SAMPLER_BPF; k <= SAMPLER_PERF; k++)
		assert_true(kernel_run(k, signal_body).syscall >= 100);
}

/* ---- the ring ---- */

static void full_ring_counts_lost(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	struct sampler *s = sampler_of(SAMPLER_BPF, 50000);
	u64 r[16], lost, end;
	struct child c;

	assert_non_null(seen);
	spin_regs(&spin_cases[0], r);
	c = child_new(spin_body, r, true);
	assert_int_equal(sampler_thread_add(s, c.pid), 0);
	assert_int_equal(write(c.go, "g", 1), 1);
	end = now_ns() + PATIENCE;
	while (!sampler_lost(s) && now_ns() < end)
		usleep(1000);
	child_stop(&c);
	lost = sampler_lost(s);
	print_message("%lu lost\n", lost);
	assert_true(lost > 0);
	assert_int_equal(sampler_drain(s, seen_add, seen), 0);
	sampler_thread_del(s, c.pid);
	/* Drained, it takes up again. */
	seen->n = 0;
	assert_int_equal(tracee_resume(c.pid, PTRACE_CONT, 0), 0);
	run_sampled(s, &c, 100, seen);
	assert_true(seen->n >= 100);
	assert_int_equal(sampler_lost(s), lost);
	sampler_free(s);
	child_end(&c);
	free(seen);
}

/* Fetched as often as the sampler asks, nothing is lost. */
static void drained_in_time(void **state)
{
	for (enum sampler_kind k = SAMPLER_BPF; k <= SAMPLER_PERF; k++) {
		struct seen *seen = calloc(1, sizeof(*seen));
		struct sampler *s = sampler_of(k, 1000);
		u64 every = sampler_drain_ns(s), last = now_ns(), worst = 0;
		struct child c;
		u64 r[16];

		assert_non_null(seen);
		assert_true(every >= NSEC_PER_MSEC && every < NSEC_PER_SEC);
		spin_regs(&spin_cases[0], r);
		c = child_new(spin_body, r, true);
		assert_int_equal(sampler_thread_add(s, c.pid), 0);
		assert_int_equal(write(c.go, "g", 1), 1);
		for (int i = 0; i < 8; i++) {
			usleep(every / 1000);
			seen->n = 0;
			assert_int_equal(sampler_drain(s, seen_add, seen), 0);
			assert_true(seen->n > 0);
			worst = MAX(worst, now_ns() - last);
			last = now_ns();
		}
		/* A machine that kept us from running did it. */
		if (worst < 2 * every)
			assert_int_equal(sampler_lost(s), 0);
		sampler_free(s);
		child_end(&c);
		free(seen);
	}
}

static void agent_is_not_sampled(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	struct sampler *s = sampler_of(SAMPLER_BPF, HZ);
	u8 *agent = map_at(AGENT_BASE, 1);
	struct child c;

	assert_non_null(seen);
	memcpy(agent, "\xeb\xfe", 2); /* jmp . */
	assert_int_equal(mprotect(agent, PAGE_BYTES, PROT_READ | PROT_EXEC), 0);
	c = child_new((void (*)(void *))agent, NULL, true);
	assert_int_equal(sampler_thread_add(s, c.pid), 0);
	assert_int_equal(write(c.go, "g", 1), 1);
	usleep(100000);
	child_stop(&c);
	assert_int_equal(sampler_drain(s, seen_add, seen), 0);
	for (size_t i = 0; i < seen->n; i++)
		assert_int_not_equal(seen->v[i].point.regs.r[X86_RIP], AGENT_BASE);
	sampler_free(s);
	child_end(&c);
	munmap(agent, PAGE_BYTES);
	free(seen);
}

static void empty_drain_is_cheap(void **state)
{
	for (enum sampler_kind k = SAMPLER_BPF; k <= SAMPLER_TIMER; k++) {
		struct sampler *s = sampler_of(k, HZ);
		u64 best = ~0UL;

		for (int round = 0; round < 20; round++) {
			u64 t = now_ns();

			for (int i = 0; i < 10000; i++)
				assert_int_equal(sampler_drain(s, seen_add, NULL), 0);
			best = MIN(best, (now_ns() - t) / 10000);
		}
		print_message("kind %d: an empty drain takes %lu ns\n", k, best);
		assert_true(best < 100);
		sampler_free(s);
	}
}

static void gone_thread_is_said(void **state)
{
	for (enum sampler_kind k = SAMPLER_BPF; k <= SAMPLER_TIMER; k++) {
		struct sampler *s = sampler_of(k, HZ);
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_int_equal(sampler_thread_add(s, pid), -ESRCH);
		sampler_thread_del(s, pid);
		sampler_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest need_bpf[] = {
		cmocka_unit_test(still_thread_bpf),
		cmocka_unit_test(in_system_calls),
		cmocka_unit_test(in_page_faults),
		cmocka_unit_test(in_sigreturn),
		cmocka_unit_test(full_ring_counts_lost),
		cmocka_unit_test(drained_in_time),
		cmocka_unit_test(agent_is_not_sampled),
		cmocka_unit_test(still_thread_perf),
		cmocka_unit_test(empty_drain_is_cheap),
		cmocka_unit_test(gone_thread_is_said),
	};
	const struct CMUnitTest any[] = {
		cmocka_unit_test(still_thread_timer),
	};
	char why[256];
	int failed;

	setvbuf(stdout, NULL, _IONBF, 0);
	failed = cmocka_run_group_tests_name("any", any, memory_setup, NULL);
	if (sampler_probe(SAMPLER_BPF, why, sizeof(why))) {
		printf("SKIP %zu tests that need BPF sampling: %s\n", ARRAY_SIZE(need_bpf),
		       why);
		return failed ? 1 : 77;
	}
	failed += cmocka_run_group_tests_name("bpf", need_bpf, NULL, NULL);
	return failed != 0;
}
