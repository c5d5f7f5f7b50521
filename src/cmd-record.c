/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "record/record.h"

#define DEFAULT_HZ 1000
#define MAX_HZ	   20000

static int parse_hz(const char *text, u32 *hz)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (!*text || *end || text[0] == '-' || v > MAX_HZ)
		return -EINVAL;
	*hz = v;
	return 0;
}

static int run(int argc, char **argv)
{
	struct record_opts o = {.hz = DEFAULT_HZ};
	int opt, status;

	optind = 1;
	opterr = 0;
	while ((opt = getopt(argc, argv, "+F:e:o:q")) != -1) {
		switch (opt) {
		case 'F':
			if (parse_hz(optarg, &o.hz))
				return cmd_usage_error(&cmd_record,
						       "-F takes 0 to %d samples a second, "
						       "not '%s'",
						       MAX_HZ, optarg);
			break;
		case 'e':
			if (strcmp(optarg, "cpu-clock") && strcmp(optarg, "wall"))
				return cmd_usage_error(
					&cmd_record, "-e takes cpu-clock or wall, not '%s'",
					optarg);
			o.wall = !strcmp(optarg, "wall");
			break;
		case 'o':
			o.dir = optarg;
			break;
		case 'q':
			o.quiet = true;
			break;
		default:
			return cmd_bad_option(&cmd_record, argv);
		}
	}
	if (optind >= argc)
		return cmd_usage_error(&cmd_record, "no program given");
	o.argv = argv + optind;
	if (record_run(&o, &status) && !status)
		status = 1;
	return status;
}

const struct cmd cmd_record = {
	.name = "record",
	.args = "[-F HZ] [-e cpu-clock|wall] [-o DIR] [-q] [--] PROGRAM [ARG...]",
	.summary = "run a program, recording and sampling it",
	.help = "  -F HZ     samples a second (default 1000; 0: none)\n"
		"  -e EVENT  cpu-clock: samples while it runs (default);\n"
		"            wall: while it sleeps in a call too\n"
		"  -o DIR    make the trace in DIR, which must not exist\n"
		"  -q        on a terminal, do not say at the end where the trace is\n"
		"\nThe exit status is the program's; 126 or 127 if it cannot be run.\n",
	.run = run,
};
