/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cmd-replay.c - playhead replay: run a recording to its end.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd.h"
#include "replay/timeline.h"

static volatile bool interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = true;
}

/* @ctx: where the first error goes. A full disk ends the replay; that a
 * stream was closed for it is as the user wants it. */
static void output(void *ctx, int fd, const void *data, size_t n)
{
	int *failed = ctx;

	while (n && !*failed) {
		ssize_t put = write(fd, data, n);

		if (put < 0 && errno == EBADF)
			return;
		if (put < 0 && errno != EINTR) {
			*failed = errno;
			interrupted = true;
		}
		if (put > 0) {
			data = (const char *)data + put;
			n -= put;
		}
	}
}

static int exit_status(s32 status)
{
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

static int replay(const char *given)
{
	int failed = 0;
	struct timeline_opts o = {
		.interrupt = &interrupted, .output = output, .ctx = &failed};
	struct sigaction act = {.sa_handler = on_interrupt};
	const struct trace_end *end;
	struct timeline *t;
	char dir[4096];
	s32 status;
	int err;

	if (trace_dir_find(given, dir, sizeof(dir)) || timeline_open(&t, dir, &o))
		return 1;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	err = timeline_run_out(t, &status);
	end = trace_reader_end(timeline_reader(t));
	if (!err && !end->clean)
		log_warn("the recording ends early%s%s", end->why[0] ? ": " : "", end->why);
	if (err && err != -EILSEQ && err != -EINTR)
		log_error("replay failed: %s", strerror(-err));
	timeline_close(t);
	if (failed) {
		log_error("cannot write output: %s", strerror(failed));
		return 1;
	}
	if (err)
		return err == -EINTR ? 130 : 1;
	return exit_status(status);
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {{0}};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		return cmd_bad_option(&cmd_replay, argv);
	if (argc - optind > 1)
		return cmd_usage_error(&cmd_replay, "one recording at a time");
	return replay(argv[optind]);
}

const struct cmd cmd_replay = {
	.name = "replay",
	.args = "[DIR]",
	.summary = "run a recording to its end, repeating what it printed",
	.help = "DIR is a recording's folder or name; the latest one if it is left out.\n"
		"The exit status is the recorded program's, or 1 if replay diverges.\n",
	.run = run,
};
