/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/log.h"
#include "base/term.h"
#include "cmd.h"
#include "trace/trace.h"

struct listing {
	bool json;
	struct json j;
	struct term_table *t;
	size_t n;
};

static void show_json(struct listing *l, const char *path, bool latest,
		      const struct trace_meta *m, const struct trace_end *e)
{
	json_object(&l->j, NULL);
	json_str(&l->j, "name", strrchr(path, '/') + 1);
	json_str(&l->j, "path", path);
	json_str(&l->j, "program", m->program);
	json_u64(&l->j, "start_time_ns", m->start_time_ns);
	json_u64(&l->j, "duration_ns", e->time_ns);
	json_u64(&l->j, "events", e->events);
	json_u64(&l->j, "samples", e->samples);
	json_u64(&l->j, "bytes", trace_dir_size(path));
	json_bool(&l->j, "complete", e->clean && !e->why[0]);
	json_bool(&l->j, "recording", trace_dir_is_live(path));
	json_bool(&l->j, "latest", latest);
	json_end(&l->j);
}

static const char *state(const char *path, const struct trace_end *e)
{
	if (trace_dir_is_live(path))
		return "recording";
	if (!e->clean)
		return "interrupted";
	return e->why[0] ? "ended early" : "complete";
}

static void show_row(struct listing *l, const char *path, bool latest,
		     const struct trace_meta *m, const struct trace_end *e)
{
	time_t t = m->start_time_ns / NSEC_PER_SEC;
	char when[32] = "?", args[256];
	struct tm tm;

	if (localtime_r(&t, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	term_table_row(l->t);
	term_table_cell(l->t, "%s%s", strrchr(path, '/') + 1, latest ? " *" : "");
	term_table_cell(l->t, "%s", when);
	term_table_cell(l->t, "%.3f", e->time_ns / 1e9);
	term_table_cell(l->t, "%" PRIu64, e->events);
	term_table_cell(l->t, "%" PRIu64, e->samples);
	term_table_cell(l->t, "%.1f", trace_dir_size(path) / 1048576.0);
	term_table_cell(l->t, "%s", state(path, e));
	term_table_cell(l->t, "%s", term_clean(m->args, args, sizeof(args)));
	if (!e->clean || e->why[0])
		term_table_style(l->t, TERM_YELLOW);
}

static int show(void *ctx, const char *path, bool latest)
{
	struct listing *l = ctx;
	struct trace_reader *r;

	/* A damaged one has been reported; the others are shown all the same. */
	if (trace_reader_open(&r, path))
		return 0;
	l->n++;
	(l->json ? show_json : show_row)(l, path, latest, trace_reader_meta(r),
					 trace_reader_end(r));
	trace_reader_free(r);
	return 0;
}

static int list_table(struct listing *l)
{
	static const struct {
		const char *title;
		enum term_align align;
	} columns[] = {
		{"NAME",	 TERM_LEFT },
		{"DATE",	 TERM_LEFT },
		 {"SECONDS", TERM_RIGHT},
		{"EVENTS",  TERM_RIGHT},
		{"SAMPLES", TERM_RIGHT},
		 {"MIB",	 TERM_RIGHT},
		{"STATE",	  TERM_LEFT },
		{"COMMAND", TERM_LEFT },
	};
	int err = term_table_new(&l->t);

	if (err)
		return err;
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		term_table_column(l->t, columns[i].title, columns[i].align);
	err = trace_dir_each(show, l);
	if (!err && !l->n)
		log_info("no traces yet: record one with 'playhead record PROGRAM'");
	else if (!err)
		err = term_table_print(l->t, stdout, "");
	term_table_free(l->t);
	return err;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		  {0 }
	     };
	struct listing l = {0};
	int o, err;

	opterr = 0;
	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == '?')
			return cmd_bad_option(&cmd_list, argv);
		l.json = true;
	}
	if (optind < argc)
		return cmd_usage_error(&cmd_list, "no argument is taken, not '%s'",
				       argv[optind]);
	if (l.json) {
		l.j = json_to(stdout);
		json_array(&l.j, NULL);
		err = trace_dir_each(show, &l);
		json_end(&l.j);
	} else {
		err = list_table(&l);
	}
	return err ? 1 : 0;
}

const struct cmd cmd_list = {
	.name = "list",
	.args = "[--json]",
	.summary = "list the traces there are, oldest first",
	.help = "  --json  an array of objects with the keys name, path, program,\n"
		"          start_time_ns, duration_ns, events, samples, bytes, complete,\n"
		"          recording, latest\n"
		"\n"
		"The one marked * is the latest: verbs that take a trace use it by "
		"default.\n"
		"STATE is complete; recording, as long as it grows; ended early, if the\n"
		"recorder gave up ('playhead info' says why); or interrupted, if it was\n"
		"killed. Of those, what was recorded until then replays. MIB leaves out\n"
		"files that the trace shares with the system by hard links.\n",
	.run = run,
};
