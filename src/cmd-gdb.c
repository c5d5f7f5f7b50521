/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cmd-gdb.c - playhead gdb: serve a recording and run gdb on it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd.h"
#include "replay/gdb.h"

struct session {
	char dir[4096];	   /* the recording */
	char folder[64];   /* of the socket, ours */
	char address[100]; /* the socket: "unix:PATH" */
	const char *path;  /* of it */
	u32 pid;
	pid_t server, gdb;
};

static void remove_folder(const struct session *s)
{
	unlink(s->path);
	rmdir(s->folder);
}

/* The server in a session of its own, so that Ctrl-C is gdb's alone. Never
 * returns. If our parent is killed, it is the one that cleans up. @ready is closed when gdb
 * may connect, written to if it may not. */
static void serve(struct session *s, int ready, pid_t parent)
{
	static const int ends[] = {SIGTERM};
	struct gdb_server_opts so = {.listen = s->address, .keep = true};
	struct gdb_host_opts ho = {.pid = s->pid};
	struct gdb_server *server;
	struct gdb_host *host;
	int r;

	setsid();
	r = gdb_server_open(&server, &so);
	if (!r) {
		gdb_server_end_by(server, ends, ARRAY_SIZE(ends));
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			gdb_server_stop(server);
		ho.server = server;
		r = gdb_host_open(&host, s->dir, &ho);
	}
	if (r < 0) {
		if (write(ready, "x", 1) != 1)
			_exit(1);
		_exit(1);
	}
	close(ready);
	r = gdb_server_run(server, gdb_host_target(host));
	gdb_host_close(host);
	gdb_server_close(server);
	remove_folder(s);
	_exit(r < 0);
}

static int start_server(struct session *s)
{
	const char *tmp = getenv("TMPDIR");
	pid_t self = getpid();
	int ready[2];
	char c;

	snprintf(s->folder, sizeof(s->folder), "%s/playhead-XXXXXX",
		 tmp && strlen(tmp) < sizeof(s->folder) - 20 ? tmp : "/tmp");
	if (!mkdtemp(s->folder)) {
		log_error("%s: %s", s->folder, strerror(errno));
		s->folder[0] = 0;
		return -errno;
	}
	snprintf(s->address, sizeof(s->address), "unix:%s/gdb", s->folder);
	s->path = s->address + strlen("unix:");
	if (pipe2(ready, O_CLOEXEC) < 0)
		return -errno;
	s->server = fork();
	if (s->server == 0) {
		close(ready[0]);
		serve(s, ready[1], self);
	}
	close(ready[1]);
	/* End of file: it listens. A byte, or its death: it said why. */
	if (s->server < 0 || read(ready[0], &c, 1) != 0) {
		close(ready[0]);
		return -ECHILD;
	}
	close(ready[0]);
	return waitpid(s->server, NULL, WNOHANG) ? -ECHILD : 0;
}

/* The script beside the installed program, or in the source tree. */
static bool find_script(char *out, size_t n)
{
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	snprintf(out, n, "%s/playhead-gdb.py", PKGDATADIR);
	if (!access(out, R_OK))
		return true;
	if (len < 0)
		return false;
	self[len] = 0;
	slash = strrchr(self, '/');
	*slash = 0;
	snprintf(out, n, "%.3900s/gdbstub/playhead-gdb.py", self);
	return !access(out, R_OK);
}

static void run_gdb(struct session *s, char **more)
{
	char target[256], script[4200];
	const char *argv[64] = {"gdb", "-q", "-iex", "set pagination off"};
	int n = 2;

	snprintf(target, sizeof(target), "target extended-remote %s", s->path);
	if (find_script(script, sizeof(script))) {
		argv[n++] = "-x";
		argv[n++] = script;
	}
	argv[n++] = "-ex";
	argv[n++] = target;
	while (*more && n < 63)
		argv[n++] = *more++;
	argv[n] = NULL;
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGHUP);
	execvp("gdb", (char **)argv);
	fprintf(stderr, "playhead: cannot run gdb: %s\n", strerror(errno));
	_exit(127);
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int session(const char *given, u32 pid, char **more)
{
	struct session s = {.pid = pid};
	int status = 1;

	if (trace_dir_find(given, s.dir, sizeof(s.dir)) < 0)
		return 1;
	if (!start_server(&s)) {
		signal(SIGINT, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
		s.gdb = fork();
		if (s.gdb == 0)
			run_gdb(&s, more);
		if (s.gdb > 0)
			status = wait_for(s.gdb);
		kill(s.server, SIGTERM);
	}
	if (s.server > 0)
		wait_for(s.server);
	if (s.folder[0])
		remove_folder(&s);
	return status;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{"process", required_argument, NULL, 'P'},
		   {0    }
	      };
	const char *given = NULL;
	u32 pid = 0;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		char *end;

		if (c != 'P')
			return cmd_bad_option(&cmd_gdb, argv);
		pid = strtoul(optarg, &end, 10);
		if (*end || !pid)
			return cmd_usage_error(&cmd_gdb, "'%s' is no process id", optarg);
	}
	if (optind < argc && strcmp(argv[optind - 1], "--"))
		given = argv[optind++];
	if (optind < argc && !strcmp(argv[optind], "--"))
		optind++;
	else if (optind < argc && given)
		return cmd_usage_error(&cmd_gdb, "gdb's own arguments go after --");
	return session(given, pid, argv + optind);
}

const struct cmd cmd_gdb = {
	.name = "gdb",
	.args = "[--process PID] [DIR] [-- GDB-ARGUMENT...]",
	.summary = "serve a recording and run gdb on it",
	.help = "      --process PID   the process to look at (the first one)\n"
		"\nDIR is a recording's folder or name; the latest one if it is left "
		"out.\n",
	.run = run,
};
