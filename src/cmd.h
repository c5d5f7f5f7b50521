/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cmd.h - what a verb is. Each cmd-NAME.c exports one const entry; main.c
 * lists them in one table and knows nothing else of them.
 */
#ifndef PLAYHEAD_CMD_H
#define PLAYHEAD_CMD_H

#include "base/base.h"

struct cmd {
	const char *name;    /* "record" */
	const char *args;    /* "[-F HZ] [-o DIR] [--] PROGRAM [ARG...]" */
	const char *summary; /* one line, lower case, no full stop */
	const char *help;    /* option lines, "  -F HZ   ...\n" each */
	/* argv[0] is the verb's name. Returns the process's exit status. */
	int (*run)(int argc, char **argv);
};

extern const struct cmd cmd_record, cmd_replay, cmd_verify, cmd_serve, cmd_gdb, cmd_report,
	cmd_samples, cmd_list, cmd_info, cmd_rm, cmd_doctor, cmd_events;

/* Usage and help of @c on stdout, as `playhead VERB --help` prints it. */
void cmd_help(const struct cmd *c);
/* "playhead VERB: unknown option ..., try 'playhead VERB --help'"; returns 2. */
int cmd_usage_error(const struct cmd *c, const char *fmt, ...) __printf_like(2, 3);
/* The same for what getopt just gave '?' for; set opterr to 0 before it. */
int cmd_bad_option(const struct cmd *c, char **argv);

#endif
