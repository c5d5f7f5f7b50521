// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * stop-coverage PROGRAM [ARG...]: run a program up to its exit, take random
 * instructions of every object that it has mapped and ask for a condition on
 * each: which share is served by a trampoline?
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <Zydis/Zydis.h>

#include "base/log.h"
#include "stop/stop.h"

#define SAMPLES 600
#define BATCH	40

static pid_t start(char **argv)
{
	struct tracee_stop st;
	pid_t pid = fork();
	bool leaving = false;
	int err;

	if (!pid) {
		setenv("LD_BIND_NOW", "1", 1);
		personality(ADDR_NO_RANDOMIZE);
		raise(SIGSTOP);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || tracee_wait(pid, WUNTRACED, &st) ||
	    ptrace(PTRACE_SEIZE, pid, 0,
		   PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXIT))
		return -1;
	kill(pid, SIGCONT);
	/* To the last system call before the end. */
	for (;;) {
		do
			err = tracee_wait(pid, 0, &st);
		while (err == -EINTR);
		if (err || st.kind == TRACEE_EXITED || st.kind == TRACEE_KILLED)
			return -1;
		if (st.kind == TRACEE_SYSCALL) {
			struct regs r;

			if (tracee_get_regs(pid, &r))
				return -1;
			if (leaving)
				return pid;
			leaving = r.r[X86_ORIG_RAX] == SYS_exit_group;
			/* Call nothing, and stop behind it. */
			r.r[X86_ORIG_RAX] = -1;
			if (leaving && tracee_set_regs(pid, &r))
				return -1;
		}
		if (tracee_resume(pid, PTRACE_SYSCALL,
				  st.kind == TRACEE_SIGNAL ? st.sig : 0))
			return -1;
	}
}

/* Instruction boundaries of [@start, @end) by a sweep, @n of them at random. */
static size_t pick(pid_t pid, u64 start_at, u64 end, u64 *out, size_t n)
{
	size_t len = end - start_at, have = 0, seen = 0;
	ZydisDecodedInstruction i;
	u8 *code = malloc(len);
	ZydisDecoder d;

	if (!code || tracee_read(pid, start_at, code, len) ||
	    !ZYAN_SUCCESS(
		    ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		goto out;
	for (size_t at = 0; at < len;) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, code + at,
								len - at, &i))) {
			at++;
			continue;
		}
		/* Padding is not run, and so never sampled. */
		if (i.mnemonic != ZYDIS_MNEMONIC_NOP && i.mnemonic != ZYDIS_MNEMONIC_INT3 &&
		    memcmp(code + at, "\0\0", 2)) {
			size_t k = have < n ? have++ : (size_t)random() % (seen + 1);

			if (k < n)
				out[k] = start_at + at;
			seen++;
		}
		at += i.length;
	}
out:
	free(code);
	return have;
}

static void batch(pid_t pid, const u64 *ip, size_t n, u32 count[NR_STOP_WAYS], bool verbose)
{
	struct stops_run_opts step = {.step = true};
	struct stop_result res;
	struct stops *s;
	int id[BATCH];

	if (stops_new(&s, pid, STOP_AUTO))
		return;
	for (size_t i = 0; i < n; i++) {
		struct stop_cond c = {.ip = ip[i], .match_regs = true};

		if (stops_add(s, &c, &id[i]))
			id[i] = -1;
	}
	if (!stops_run(s, &step, &res))
		for (size_t i = 0; i < n; i++) {
			enum stop_way way = stops_way(s, id[i]);
			u8 b[16] = {0};

			count[way]++;
			if (!verbose || way == STOP_TRAMPOLINE)
				continue;
			if (stops_read(s, ip[i], b, sizeof(b)))
				continue;
			printf("  %#" PRIx64 ":", ip[i]);
			for (int k = 0; k < 16; k++)
				printf(" %02x", b[k]);
			printf("\n");
		}
	stops_free(s);
}

static void object(pid_t pid, u64 start_at, u64 end, const char *name, bool verbose)
{
	static u64 ip[SAMPLES];
	u32 count[NR_STOP_WAYS] = {0};
	size_t n = pick(pid, start_at, end, ip, SAMPLES);
	u64 t = now_ns();

	for (size_t i = 0; i < n; i += BATCH)
		batch(pid, ip + i, MIN(n - i, BATCH), count, verbose);
	t = now_ns() - t;
	if (n)
		printf("%-50s %4zu instructions, trampolines %5.1f %%, %.0f us each\n",
		       name, n, 100.0 * count[STOP_TRAMPOLINE] / n, t / 1e3 / n);
}

int main(int argc, char **argv)
{
	bool verbose = argc > 2 && !strcmp(argv[1], "-v");
	char path[64], line[512];
	pid_t pid;
	FILE *f;

	if (argc < 2 + verbose)
		return 2;
	pid = start(argv + 1 + verbose);
	if (pid < 0 || tracee_map_agent(pid, 0)) {
		fprintf(stderr, "cannot run %s\n", argv[1 + verbose]);
		return 1;
	}
	srandom(1);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char perms[8], name[300] = "";
		u64 a, b;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %299s", &a, &b,
			   perms, name) < 4)
			continue;
		if (perms[2] == 'x' && name[0] == '/' && b - a >= 65536)
			object(pid, a, b, name, verbose);
	}
	if (f)
		fclose(f);
	kill(pid, SIGKILL);
	return 0;
}
