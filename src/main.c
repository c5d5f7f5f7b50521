/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * main.c - find the verb, run it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "cmd.h"

/* clang-format off */
static const struct cmd *const cmds[] = {
	&cmd_record,
	&cmd_list,
	&cmd_info,
	&cmd_rm,
	&cmd_events,
	&cmd_report,
	&cmd_samples,
	&cmd_replay,
	&cmd_verify,
	&cmd_serve,
	&cmd_gdb,
	&cmd_doctor,
	NULL,
};
/* clang-format on */

void cmd_help(const struct cmd *c)
{
	printf("usage: playhead %s %s\n\n%s.\n", c->name, c->args, c->summary);
	if (c->help)
		printf("\n%s", c->help);
}

int cmd_usage_error(const struct cmd *c, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "playhead %s: ", c->name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "; try 'playhead %s --help'\n", c->name);
	return 2;
}

int cmd_bad_option(const struct cmd *c, char **argv)
{
	const char *word = argv[optind - 1];
	char letter[] = {'-', optopt, 0};

	/* getopt steps over a long option, and over the last of a cluster of
	 * letters; a long one where only letters are taken is met as "--". */
	if (optopt == '-')
		word = argv[optind];
	else if (optopt > ' ' && optopt < 0x7f && strncmp(word, "--", 2))
		word = letter;
	return cmd_usage_error(c, "cannot use '%s': no such option, or no value for it",
			       word);
}

static void usage(FILE *to)
{
	fprintf(to, "usage: playhead VERB [ARG...]\n\n"
		    "Records a program while profiling it, and stands at any sample in "
		    "gdb.\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(cmds) && cmds[i]; i++)
		fprintf(to, "  %-10s %s\n", cmds[i]->name, cmds[i]->summary);
	fprintf(to, "\nplayhead VERB --help tells more; so does man playhead-VERB.\n");
}

/* A listing that was cut short by a full disk must not look like a success. */
static int finish(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	/* Whoever read the pipe has seen enough; only they know why. */
	if (errno != EPIPE)
		fprintf(stderr, "playhead: cannot write output: %s\n", strerror(errno));
	return status ? status : 1;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		usage(stdout);
		return finish(0);
	}
	if (!strcmp(argv[1], "--version")) {
		printf("playhead %s\n", PACKAGE_VERSION);
		return finish(0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cmds) && cmds[i]; i++) {
		if (strcmp(argv[1], cmds[i]->name))
			continue;
		for (int a = 2; a < argc && strcmp(argv[a], "--"); a++) {
			if (argv[a][0] != '-')
				break;
			if (!strcmp(argv[a], "--help") || !strcmp(argv[a], "-h")) {
				cmd_help(cmds[i]);
				return finish(0);
			}
		}
		return finish(cmds[i]->run(argc - 1, argv + 1));
	}
	fprintf(stderr, "playhead: no verb '%s'; try 'playhead --help'\n", argv[1]);
	return 2;
}
