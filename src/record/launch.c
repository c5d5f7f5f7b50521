/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * launch.c - find the program, refuse what cannot be recorded, start it
 * stopped under ptrace with its system calls filtered.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "record/internal.h"

#define MAX_INTERPRETERS 5

static bool runnable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* As execvp() searches; -EACCES: found, but none may be executed. */
static int find_program(const char *given, char *path, size_t n)
{
	const char *dirs = getenv("PATH"), *end;
	bool found = false;

	if (!dirs)
		dirs = "/bin:/usr/bin";
	if (strchr(given, '/')) {
		snprintf(path, n, "%s", given);
		if (runnable(path))
			return 0;
		return access(path, F_OK) ? -ENOENT : -EACCES;
	}
	for (; *given; dirs = end + 1) {
		end = strchrnul(dirs, ':');
		snprintf(path, n, "%.*s/%s", end > dirs ? (int)(end - dirs) : 1,
			 end > dirs ? dirs : ".", given);
		if (runnable(path))
			return 0;
		found |= !access(path, F_OK);
		if (!*end)
			break;
	}
	return found ? -EACCES : -ENOENT;
}

/* What is wrong with the program file @path, or NULL. A script's interpreter
 * is put into @path, to be looked at next. */
static const char *look(char *path, size_t n, bool *script)
{
	u8 head[256] = {0};
	Elf64_Ehdr *e = (void *)head;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;
	char *p;

	*script = false;
	/* May be run but not read: the kernel will tell. */
	if (fd < 0)
		return NULL;
	got = read(fd, head, sizeof(head) - 1);
	close(fd);
	if (got >= 2 && !memcmp(head, "#!", 2)) {
		p = (char *)head + 2 + strspn((char *)head + 2, " \t");
		p[strcspn(p, " \t\n\r")] = '\0';
		snprintf(path, n, "%s", p);
		*script = true;
		return NULL;
	}
	if (got < (ssize_t)sizeof(*e) || memcmp(head, ELFMAG, SELFMAG))
		return "is not a program: neither ELF nor a #! script";
	if (e->e_ident[EI_CLASS] == ELFCLASS32)
		return "is a 32-bit program; only x86-64 ones can be recorded";
	if (e->e_machine != EM_X86_64)
		return "is not an x86-64 program";
	return NULL;
}

int launch_check(const char *given, char *path, size_t n, int *status)
{
	char interp[4096];
	const char *wrong;
	bool script;
	int err = find_program(given, path, n);

	if (err) {
		*status = err == -ENOENT ? 127 : 126;
		log_error("%s: %s", given,
			  err == -ENOENT ? "program not found" : "not executable");
		return err;
	}
	snprintf(interp, sizeof(interp), "%s", path);
	for (int i = 0; i < MAX_INTERPRETERS; i++) {
		wrong = look(interp, sizeof(interp), &script);
		if (wrong) {
			*status = 126;
			log_error("%s %s", interp, wrong);
			return -ENOEXEC;
		}
		if (!script)
			return 0;
		if (!runnable(interp)) {
			*status = 126;
			log_error("%s: interpreter %s not found", given, interp);
			return -ENOENT;
		}
	}
	return 0;
}

int launch_pin(cpu_set_t *before, int *cpu)
{
	cpu_set_t one;

	CPU_ZERO(before);
	if (sched_getaffinity(0, sizeof(*before), before))
		return -errno;
	*cpu = sched_getcpu();
	if (*cpu < 0 || !CPU_ISSET(*cpu, before))
		for (*cpu = 0; *cpu < CPU_SETSIZE && !CPU_ISSET(*cpu, before); ++*cpu)
			;
	CPU_ZERO(&one);
	CPU_SET(*cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) ? -errno : 0;
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))

/*
 * Every call stops (one of another architecture with a mark), but those made from the
 * agent's code page. seccomp_data carries the address after the `syscall` instruction.
 */
static int install_filter(void)
{
	struct sock_filter code[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE | FILTER_FOREIGN),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
		LOAD(instruction_pointer),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, AGENT_BASE, 0, 1),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, AGENT_BASE + PAGE_BYTES, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {ARRAY_SIZE(code), code};

	/* Without CAP_SYS_ADMIN a filter needs this promise. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) && errno == EACCES)
		return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
				       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)
			       ? -errno
			       : 0;
	return 0;
}

static void __attribute__((noreturn)) child(const char *path, char **argv, int go, int told)
{
	char c;
	int err;

	if (personality(ADDR_NO_RANDOMIZE) < 0 || read(go, &c, 1) != 1)
		_exit(127);
	install_filter();
	execv(path, argv);
	err = errno;
	if (write(told, &err, sizeof(err)) < 0)
		_exit(127);
	_exit(err == ENOENT ? 127 : 126);
}

#define TRACE_OPTIONS                                                                      \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE |                \
	 PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXIT |                   \
	 PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL)

int launch_child(struct session *s, const char *path, pid_t *pid)
{
	int go[2] = {-1, -1}, told[2] = {-1, -1};
	int err = 0;

	if (pipe2(go, O_CLOEXEC) || pipe2(told, O_CLOEXEC)) {
		err = -errno;
		goto out;
	}
	*pid = fork();
	if (*pid < 0)
		err = -errno;
	else if (!*pid)
		child(path, s->opts->argv, go[0], told[1]);
	else if (ptrace(PTRACE_SEIZE, *pid, 0, TRACE_OPTIONS))
		err = -errno;
	if (err) {
		log_error("cannot trace: %s", strerror(-err));
		/* It waits for a word that never comes. */
		if (*pid > 0 && !kill(*pid, SIGKILL) && waitpid(*pid, NULL, 0) < 0)
			log_debug("the child has no end to wait for");
		goto out;
	}
	if (write(go[1], "", 1) != 1)
		err = -errno;
	s->told = told[0];
	told[0] = -1;
out:
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (told[i] >= 0)
			close(told[i]);
	}
	return err;
}
