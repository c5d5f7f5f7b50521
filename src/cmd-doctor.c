/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cmd-doctor.c - playhead doctor: what this machine offers, and what is done
 * without what it does not. Each probe tries the thing itself; none believes
 * a version number or a setting.
 */
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/fs.h>
#include <linux/kcmp.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/term.h"
#include "cmd.h"
#include "sample/sampler.h"
#include "stop/stop.h"
#include "trace/trace.h"

#ifndef ARCH_SET_CPUID
#define ARCH_SET_CPUID 0x1012
#endif

enum state { STATE_OK, STATE_DEGRADED, STATE_MISSING };

static const char *const state_names[] = {
	[STATE_OK] = "ok",
	[STATE_DEGRADED] = "degraded",
	[STATE_MISSING] = "missing",
};

/* A probe says what it found in @d, for people, and its verdict. */
#define DETAIL 256
typedef enum state (*probe_fn)(char d[DETAIL]);

struct check {
	const char *name;
	probe_fn probe;
	const char *purpose, *without;
	bool vital; /* nothing can be recorded without it */
};

/* ---- what a tracee needs ---- */

/*
 * Run @fn in a child, for what would stay with the process that tries it.
 * 0 or -errno as @fn returned it.
 */
static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (!pid) {
		int err = -fn();

		_exit(err < 0 || err > 254 ? 255 : err);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

static enum state verdict(int err, char d[DETAIL])
{
	if (err)
		snprintf(d, DETAIL, "%s", strerror(-err));
	return err ? STATE_MISSING : STATE_OK;
}

/* First line of a small file, without its newline; "" if there is none. */
static void file_line(const char *path, char *out, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, out, n - 1);

	if (fd >= 0)
		close(fd);
	out[MAX(len, 0)] = 0;
	out[strcspn(out, "\n")] = 0;
}

static enum state probe_kernel(char d[DETAIL])
{
	struct utsname u;
	unsigned major = 0, minor = 0;

	if (uname(&u))
		return verdict(-errno, d);
	snprintf(d, DETAIL, "%.60s %.60s", u.sysname, u.release);
	sscanf(u.release, "%u.%u", &major, &minor);
	/* PTRACE_GET_SYSCALL_INFO; no probe below could say it better. */
	return major > 5 || (major == 5 && minor >= 3) ? STATE_OK : STATE_MISSING;
}

static enum state probe_ptrace(char d[DETAIL])
{
	char scope[16];
	int status, err = 0;
	pid_t pid = fork();

	if (pid < 0)
		return verdict(-errno, d);
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(errno);
		raise(SIGSTOP);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		err = -errno;
	else if (WIFEXITED(status))
		err = -WEXITSTATUS(status);
	if (!err && WIFSTOPPED(status)) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	file_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
	snprintf(d, DETAIL, "%s%s%s", err ? strerror(-err) : "own children",
		 *scope ? ", yama scope " : "", scope);
	return err ? STATE_MISSING : STATE_OK;
}

static int try_seccomp(void)
{
	u32 action = SECCOMP_RET_TRACE;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) ? -errno : 0;
}

static enum state probe_seccomp(char d[DETAIL])
{
	return verdict(in_child(try_seccomp), d);
}

static int try_personality(void)
{
	return personality(ADDR_NO_RANDOMIZE) < 0 ? -errno : 0;
}

static enum state probe_aslr(char d[DETAIL])
{
	return verdict(in_child(try_personality), d);
}

static int try_cpuid(void)
{
	return syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) ? -errno : 0;
}

static enum state probe_cpuid(char d[DETAIL])
{
	int err = in_child(try_cpuid);

	if (err == -ENODEV) {
		snprintf(d, DETAIL, "this CPU cannot trap it");
		return STATE_MISSING;
	}
	return verdict(err, d);
}

static int try_tsc(void)
{
	return prctl(PR_SET_TSC, PR_TSC_SIGSEGV) ? -errno : 0;
}

static enum state probe_tsc(char d[DETAIL])
{
	return verdict(in_child(try_tsc), d);
}

static enum state probe_memory(char d[DETAIL])
{
	char from[8] = "playhea", to[8];
	struct iovec l = {to, sizeof(to)}, r = {from, sizeof(from)};

	return verdict(
		process_vm_readv(getpid(), &l, 1, &r, 1, 0) == sizeof(to) ? 0 : -errno, d);
}

static enum state probe_kcmp(char d[DETAIL])
{
	pid_t me = getpid();
	long r = syscall(SYS_kcmp, me, me, KCMP_FILE, STDERR_FILENO, STDERR_FILENO);

	/* A closed stderr is no fault of kcmp's. */
	return verdict(r < 0 && errno != EBADF ? -errno : 0, d);
}

/* ---- page tracking: newer than the headers of Debian 12 ---- */

#define WP_ASYNC (1 << 15)

static enum state probe_uffd(char d[DETAIL])
{
	struct uffdio_api api = {.api = UFFD_API, .features = WP_ASYNC};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY), err = 0;

	if (fd < 0)
		return verdict(-errno, d);
	if (ioctl(fd, UFFDIO_API, &api))
		err = -errno;
	close(fd);
	if (err)
		snprintf(d, DETAIL, "no asynchronous write protection (Linux 6.7)");
	return err ? STATE_MISSING : STATE_OK;
}

struct scan_arg {
	u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
	u64 inverted, mask, anyof, returned;
};

static enum state probe_pagemap(char d[DETAIL])
{
	struct scan_arg a = {.size = sizeof(a),
			     .start = PAGE_DOWN(d),
			     .end = PAGE_DOWN(d) + PAGE_BYTES,
			     .mask = 1 << 1,
			     .returned = 1 << 1};
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return verdict(-errno, d);
	if (ioctl(fd, _IOWR('f', 16, struct scan_arg), &a) < 0)
		err = -errno;
	close(fd);
	if (err == -ENOTTY)
		snprintf(d, DETAIL, "no PAGEMAP_SCAN (Linux 6.7)");
	else
		return verdict(err, d);
	return STATE_MISSING;
}

/* ---- sampling and stopping ---- */

static enum state probe_sampler(enum sampler_kind kind, char d[DETAIL])
{
	return sampler_probe(kind, d, DETAIL) ? STATE_MISSING : STATE_OK;
}

static enum state probe_sample_bpf(char d[DETAIL])
{
	return probe_sampler(SAMPLER_BPF, d);
}

static enum state probe_sample_perf(char d[DETAIL])
{
	enum state s = probe_sampler(SAMPLER_PERF, d);
	char level[16];
	size_t at = strlen(d);

	file_line("/proc/sys/kernel/perf_event_paranoid", level, sizeof(level));
	snprintf(d + at, DETAIL - at, "%sparanoid %s", at ? "; " : "",
		 *level ? level : "unknown");
	return s;
}

static enum state probe_sample_timer(char d[DETAIL])
{
	return probe_sampler(SAMPLER_TIMER, d);
}

static enum state probe_ksyms(char d[DETAIL])
{
	char line[128];

	file_line("/proc/kallsyms", line, sizeof(line));
	if (*line && strtoull(line, NULL, 16))
		return STATE_OK;
	file_line("/proc/sys/kernel/kptr_restrict", line, sizeof(line));
	snprintf(d, DETAIL, "addresses are hidden (kptr_restrict %s)", *line ? line : "?");
	return STATE_MISSING;
}

static enum state probe_pmu(char d[DETAIL])
{
	struct perf_event_attr a = {.type = PERF_TYPE_HARDWARE,
				    .size = sizeof(a),
				    .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
				    .exclude_kernel = 1,
				    .disabled = 1};
	int fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0) {
		close(fd);
		return STATE_OK;
	}
	if (errno != ENOENT && errno != EOPNOTSUPP)
		return verdict(-errno, d);
	snprintf(d, DETAIL, "no hardware counters here");
	return STATE_MISSING;
}

static enum state probe_stop(enum stop_way way, char d[DETAIL])
{
	return stops_probe(way, d, DETAIL) ? STATE_MISSING : STATE_OK;
}

static enum state probe_stop_tramp(char d[DETAIL])
{
	return probe_stop(STOP_TRAMPOLINE, d);
}

static enum state probe_stop_bpf(char d[DETAIL])
{
	return probe_stop(STOP_BPF, d);
}

/* ---- around it ---- */

/* The nearest folder above @path that exists. */
static void existing(char *path)
{
	struct stat st;
	char *slash;

	while (stat(path, &st) && (slash = strrchr(path, '/')) && slash != path)
		*slash = 0;
}

static bool can_reflink(const char *dir)
{
	int from = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int to = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char page[PAGE_BYTES] = {1};
	bool can;

	can = from >= 0 && to >= 0 && write(from, page, sizeof(page)) == sizeof(page) &&
	      !ioctl(to, FICLONE, from);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return can;
}

static enum state probe_space(char d[DETAIL])
{
	char home[PATH_MAX];
	struct statvfs v;
	double gib;
	int err = trace_home(home, sizeof(home));

	if (err)
		return verdict(err, d);
	existing(home);
	if (access(home, W_OK | X_OK) || statvfs(home, &v)) {
		snprintf(d, DETAIL, "%.150s: %s", home, strerror(errno));
		return STATE_MISSING;
	}
	gib = (double)v.f_bavail * v.f_frsize / (1 << 30);
	snprintf(d, DETAIL, "%.1f GiB free at %.150s", gib, home);
	return gib < 1 ? STATE_DEGRADED : STATE_OK;
}

static enum state probe_reflink(char d[DETAIL])
{
	char home[PATH_MAX];

	if (trace_home(home, sizeof(home)))
		return STATE_MISSING;
	existing(home);
	if (can_reflink(home))
		return STATE_OK;
	snprintf(d, DETAIL, "not by this file system");
	return STATE_MISSING;
}

/* The first line that `gdb --version` prints ends in the version. */
static enum state probe_gdb(char d[DETAIL])
{
	FILE *p = popen("gdb --version 2>/dev/null", "re");
	char line[DETAIL] = "";
	unsigned major = 0;
	const char *v;

	if (!p)
		return verdict(-errno, d);
	if (!fgets(line, sizeof(line), p))
		line[0] = 0;
	pclose(p);
	line[strcspn(line, "\n")] = 0;
	v = strrchr(line, ' ');
	if (!v) {
		snprintf(d, DETAIL, "no gdb on PATH");
		return STATE_MISSING;
	}
	sscanf(v + 1, "%u", &major);
	snprintf(d, DETAIL, "%s%s", v + 1, major < 12 ? ", older than 12" : "");
	return major < 12 ? STATE_DEGRADED : STATE_OK;
}

/* ---- the table ---- */

/* clang-format off */
static const struct check checks[] = {
	{"kernel", probe_kernel, "Linux 5.3 or newer", "nothing can be recorded", true},
	{"ptrace", probe_ptrace, "stop the program at events", "nothing can be recorded", true},
	{"seccomp", probe_seccomp, "stop at system calls", "nothing can be recorded", true},
	{"memory", probe_memory, "read the program's memory", "nothing can be recorded", true},
	{"aslr-off", probe_aslr, "the same addresses in every run", "nothing can be recorded", true},
	{"tsc-trap", probe_tsc, "record RDTSC", "nothing can be recorded", true},
	{"cpuid-trap", probe_cpuid, "record CPUID", "a recording replays on the same kind of CPU only", false},
	{"kcmp", probe_kcmp, "know which files are the terminal", "replay does not repeat output", false},
	{"page-writes", probe_uffd, "exact preemption points", "fewer words tell two passes apart", false},
	{"page-scan", probe_pagemap, "exact preemption points", "fewer words tell two passes apart", false},
	{"sample-bpf", probe_sample_bpf, "samples without a stop", "sample-perf, or else sample-timer", false},
	{"sample-perf", probe_sample_perf, "samples by the perf ring", "sample-timer: a stop each", false},
	{"sample-timer", probe_sample_timer, "samples by a CPU timer", "no samples", false},
	{"kernel-names", probe_ksyms, "name kernel functions", "reports show kernel addresses", false},
	{"pmu", probe_pmu, "hints to a point, not used so far", "nothing changes: points need no counter", false},
	{"stop-jump", probe_stop_tramp, "conditional stops inside the program", "stop-bpf, or else ptrace", false},
	{"stop-bpf", probe_stop_bpf, "conditional stops inside the kernel", "ptrace: slow where no jump fits", false},
	{"space", probe_space, "keep traces", "record -o another folder", false},
	{"reflink", probe_reflink, "keep mapped files without a copy", "hard links or copies", false},
	{"gdb", probe_gdb, "stand at a sample (12 or newer)", "profiles and replay only", false},
};
/* clang-format on */

struct result {
	enum state state;
	char detail[DETAIL];
};

static void show_json(const struct result *r, bool can_record)
{
	struct json j = json_to(stdout);

	json_object(&j, NULL);
	json_bool(&j, "can_record", can_record);
	json_array(&j, "checks");
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		json_object(&j, NULL);
		json_str(&j, "name", checks[i].name);
		json_str(&j, "state", state_names[r[i].state]);
		json_str(&j, "detail", r[i].detail);
		json_str(&j, "purpose", checks[i].purpose);
		json_str(&j, "without", checks[i].without);
		json_bool(&j, "vital", checks[i].vital);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
}

static int show_table(const struct result *r)
{
	static const char *const titles[] = {"CHECK", "STATE", "FOR", "FOUND / WITHOUT IT"};
	struct term_table *t;
	int err = term_table_new(&t);

	if (err)
		return err;
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		term_table_column(t, titles[i], TERM_LEFT);
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		bool ok = r[i].state == STATE_OK;
		const char *d = r[i].detail;

		term_table_row(t);
		term_table_cell(t, "%s", checks[i].name);
		term_table_cell(t, "%s", state_names[r[i].state]);
		term_table_cell(t, "%s", checks[i].purpose);
		term_table_cell(t, "%s%s%s", d,
				ok || !*d ? "" : "; so: ", ok ? "" : checks[i].without);
		if (!ok)
			term_table_style(t, checks[i].vital ? TERM_RED : TERM_YELLOW);
	}
	err = term_table_print(t, stdout, "");
	term_table_free(t);
	return err;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{0 },
	};
	static struct result results[ARRAY_SIZE(checks)];
	bool json = false, can_record = true;
	int o, err = 0;

	opterr = 0;
	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == '?')
			return cmd_bad_option(&cmd_doctor, argv);
		json = true;
	}
	if (optind < argc)
		return cmd_usage_error(&cmd_doctor, "no argument is taken, not '%s'",
				       argv[optind]);
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		results[i].state = checks[i].probe(results[i].detail);
		if (checks[i].vital && results[i].state == STATE_MISSING)
			can_record = false;
	}
	if (json)
		show_json(results, can_record);
	else
		err = show_table(results);
	if (err)
		log_error("%s", strerror(-err));
	else if (!can_record && !json)
		log_error("programs cannot be recorded on this machine");
	return err || !can_record ? 1 : 0;
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.args = "[--json]",
	.summary = "say what works on this machine, and what is done without the rest",
	.help = "  --json  one object with the keys can_record and checks, an array of "
		"objects\n"
		"          with name, state (ok, degraded, missing), detail, purpose, "
		"without, "
		"vital\n"
		"\n"
		"The exit status is 1 if programs cannot be recorded at all.\n",
	.run = run,
};
