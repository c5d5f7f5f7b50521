/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/term.h"
#include "cmd.h"
#include "trace/trace.h"

struct want {
	u64 from, to;
	u32 tid;
};

static bool parse_u64(const char *s, u64 *out)
{
	char *end;

	errno = 0;
	*out = strtoull(s, &end, 0);
	return !errno && end != s && !*end && *s != '-';
}

static int list_events(struct trace_reader *r, const struct want *w)
{
	const struct event *ev;
	struct trace_cursor *c;
	char line[4096], clean[4096];
	int err;

	err = trace_cursor_new(r, &c);
	if (err)
		return err;
	err = trace_cursor_seek(c, w->from);
	while (!err && (err = trace_cursor_next(c, &ev)) == 1) {
		err = 0;
		if (ev->number > w->to)
			break;
		if (w->tid && ev->tid != w->tid)
			continue;
		event_text(ev, line, sizeof(line));
		if (puts(term_clean(line, clean, sizeof(clean))) < 0)
			break;
	}
	trace_cursor_free(c);
	if (err == -ERANGE) {
		fprintf(stderr,
			"playhead events: no event %" PRIu64 ": the trace has 1 to %" PRIu64
			"\n",
			w->from, trace_reader_end(r)->events);
	}
	return err;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{"from",		 required_argument, NULL, 'f'},
		{"to",	       required_argument, NULL, 't'},
		{"tid",			required_argument, NULL, 'T'},
		{0},
	};
	struct want w = {1, UINT64_MAX, 0};
	struct trace_reader *r;
	char dir[PATH_MAX];
	u64 v;
	int o, err;

	opterr = 0;
	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == '?')
			return cmd_bad_option(&cmd_events, argv);
		if (!parse_u64(optarg, &v))
			return cmd_usage_error(&cmd_events, "'%s' is not a number", optarg);
		if (o == 'f')
			w.from = v;
		else if (o == 't')
			w.to = v;
		else
			w.tid = v;
	}
	if (argc - optind > 1)
		return cmd_usage_error(&cmd_events, "one trace at a time, not '%s'",
				       argv[optind + 1]);
	if (trace_dir_find(argv[optind], dir, sizeof(dir)) || trace_reader_open(&r, dir))
		return 1;
	err = list_events(r, &w);
	trace_reader_free(r);
	return err ? 1 : 0;
}

const struct cmd cmd_events = {
	.name = "events",
	.args = "[--from N] [--to N] [--tid TID] [TRACE]",
	.summary = "list what entered the program from outside, an event a line",
	.help = "  --from N   begin at event N\n"
		"  --to N     end with event N\n"
		"  --tid TID  only this thread's\n"
		"\n"
		"A line: number, seconds, pid/tid, type, what happened, its effects.\n",
	.run = run,
};
