// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * stop-passes [PASSES [SLOW]]: what a pass over a condition that does not hold costs
 * by each way, beside the loop's own time. The slow ways make SLOW
 * passes, by default a twentieth.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stop/stop.h"

/* rcx = passes; the condition stands on the first instruction of each loop. */
asm(".pushsection .text\n.balign 64\n"
    ".globl loop_tight\nloop_tight:\n1: dec %rcx\njnz 1b\nint3\n"
    ".balign 64\n.globl loop_call\nloop_call:\n"
    "1: call 2f\nadd %rax,%rdx\nimul $77,%rdx\nxor %rcx,%rdx\ndec %rcx\njnz 1b\nint3\n"
    "2: lea 5(%rdx,%rcx,2),%rax\nret\n"
    ".balign 64\n.globl loop_memory\nloop_memory:\n"
    "1: incq -64(%rsp)\nmov -64(%rsp),%rax\ncmp %rcx,%rax\njne 1b\nint3\n"
    ".popsection");
extern const char loop_tight[], loop_call[], loop_memory[];

static const struct loop {
	const char *name;
	const char *code;
} loops[] = {
	{"dec, jnz (2 instructions)", loop_tight },
	{"call, work, ret (8)",	loop_call	 },
	{"counter in memory (4)",	  loop_memory},
};

static u8 stack[4096] __attribute__((aligned(4096)));

static pid_t child_start(void)
{
	struct tracee_stop st;
	cpu_set_t one;
	pid_t pid;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		perror("sched_setaffinity");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD) ||
	    ptrace(PTRACE_INTERRUPT, pid, 0, 0) || tracee_wait(pid, 0, &st) ||
	    tracee_map_agent(pid, 0))
		return -1;
	return pid;
}

/* Processor time of the child and ours: others may be at work here, too. */
static u64 cpu_ns(pid_t pid)
{
	struct timespec a = {0}, b = {0};
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &a) ||
	    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b))
		return 0;
	return (a.tv_sec + b.tv_sec) * NSEC_PER_SEC + a.tv_nsec + b.tv_nsec;
}

/* ns a pass; < 0: the way did not serve. */
static double measure(pid_t pid, const struct loop *l, enum stop_way way, u64 passes)
{
	struct stop_cond c = {.ip = (u64)l->code, .match_regs = true};
	struct stops_run_opts on = {0};
	struct stop_result res;
	static const u8 zero[8];
	struct stops *s;
	struct regs r;
	double ns = -1;
	u64 t;
	int id = -1;

	if (tracee_get_regs(pid, &r) || stops_new(&s, pid, way))
		return -1;
	r.r[X86_RIP] = (u64)l->code;
	r.r[X86_RCX] = passes;
	r.r[X86_RSP] = (u64)stack + sizeof(stack);
	r.r[X86_ORIG_RAX] = -1;
	/* Differs in one register only, and that one is compared last. */
	c.regs = r;
	c.regs.r[X86_RCX] = passes + 7;
	if (tracee_set_regs(pid, &r) ||
	    tracee_write(pid, (u64)stack + sizeof(stack) - 64, zero, sizeof(zero)) ||
	    (way != STOP_AUTO && stops_add(s, &c, &id)))
		goto out;
	t = cpu_ns(pid);
	if (stops_run(s, &on, &res))
		goto out;
	t = cpu_ns(pid) - t;
	if (res.kind == STOPPED_OTHER && res.stop.sig == SIGTRAP &&
	    (way == STOP_AUTO || stops_way(s, id) == way))
		ns = (double)t / passes;
out:
	stops_free(s);
	return ns;
}

int main(int argc, char **argv)
{
	u64 passes = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
	u64 slow = argc > 2 ? strtoull(argv[2], NULL, 0) : passes / 20;
	pid_t pid = child_start();
	char why[200];

	if (pid < 0 || passes < 100) {
		fprintf(stderr, "stop-passes: no child to run\n");
		return 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
		double native = measure(pid, &loops[i], STOP_AUTO, passes);

		printf("%s: native %.2f ns a pass\n", loops[i].name, native);
		for (int way = STOP_TRAMPOLINE; way < NR_STOP_WAYS; way++) {
			u64 n = way == STOP_TRAMPOLINE ? passes : slow;
			double ns = -1;

			if (stops_probe(way, why, sizeof(why)))
				printf("  %-10s not here: %s\n", stop_way_names[way], why);
			else if ((ns = measure(pid, &loops[i], way, n)) < 0)
				printf("  %-10s did not serve\n", stop_way_names[way]);
			else
				printf("  %-10s %10.2f ns a pass, %9.1f times native, %lu "
				       "passes\n",
				       stop_way_names[way], ns, ns / native, n);
		}
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
