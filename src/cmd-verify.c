/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cmd-verify.c - playhead verify: replay a recording, meet every sample.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/term.h"
#include "cmd.h"
#include "replay/timeline.h"
#include "sample/verdicts.h"

static volatile bool interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = true;
}

static void progress(void *ctx, u64 event, u64 events)
{
	struct term_progress *p = ctx;

	p->total = events;
	term_progress_show(p, event);
}

struct found {
	struct verdicts v;
	int err;
};

static void keep_verdict(void *ctx, const struct sample *s, u64 matches)
{
	struct found *f = ctx;

	if (!f->err)
		f->err = verdicts_add(&f->v, s->number, matches);
}

static void print_json(const struct verify_counts *c)
{
	struct json j = json_to(stdout);

	json_object(&j, NULL);
	json_u64(&j, "events", c->events);
	json_u64(&j, "samples", c->samples);
	json_u64(&j, "exact", c->exact);
	json_u64(&j, "repeated", c->repeated);
	json_u64(&j, "lost", c->lost);
	json_u64(&j, "divergences", c->divergences);
	json_end(&j);
}

static void print_text(const struct verify_counts *c)
{
	printf("%" PRIu64 " events, %" PRIu64 " divergences; %" PRIu64 " samples: %" PRIu64
	       " exact, %" PRIu64 " repeated, %" PRIu64 " lost",
	       c->events, c->divergences, c->samples, c->exact, c->repeated, c->lost);
	if (c->samples)
		printf(" (%.2f %% exact)", 100.0 * c->exact / c->samples);
	putchar('\n');
}

static int verify(const char *given, enum stop_way force, bool json)
{
	struct term_progress p = {.what = "verifying"};
	struct timeline_opts o = {
		.force = force, .interrupt = &interrupted, .progress = progress, .ctx = &p};
	struct sigaction act = {.sa_handler = on_interrupt};
	struct verify_counts c;
	struct found found = {0};
	struct timeline *t;
	char dir[4096];
	int err;

	if (trace_dir_find(given, dir, sizeof(dir)) || timeline_open(&t, dir, &o))
		return 1;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	err = timeline_verify(t, &c, keep_verdict, &found);
	term_progress_end(&p);
	timeline_close(t);
	/* Only for the listings: a trace that cannot be written verifies as well. */
	if (!err && !found.err && verdicts_save(&found.v, dir))
		log_debug("what was found is not kept in %s", dir);
	verdicts_fini(&found.v);
	if (err == -EINTR)
		return 130;
	if (err && err != -EILSEQ) {
		log_error("verify failed: %s", strerror(-err));
		return 1;
	}
	if (json)
		print_json(&c);
	else
		print_text(&c);
	return c.lost || c.divergences ? 1 : 0;
}

static int find_way(const char *name, enum stop_way *way)
{
	for (int i = 0; i < NR_STOP_WAYS; i++)
		if (!strcmp(stop_way_names[i], name)) {
			*way = i;
			return 0;
		}
	return -EINVAL;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"stop",	 required_argument, NULL, 's'},
		{0	  },
	};
	enum stop_way force = STOP_AUTO;
	bool json = false;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'j')
			json = true;
		else if (c != 's')
			return cmd_bad_option(&cmd_verify, argv);
		else if (find_way(optarg, &force))
			return cmd_usage_error(&cmd_verify, "no way to stop named '%s'",
					       optarg);
	}
	if (argc - optind > 1)
		return cmd_usage_error(&cmd_verify, "one recording at a time");
	return verify(argv[optind], force, json);
}

const struct cmd cmd_verify = {
	.name = "verify",
	.args = "[--json] [--stop=auto|trampoline|bpf|ptrace] [DIR]",
	.summary = "replay a recording and stand at every sample once",
	.help = "  --json      the counts as one JSON object: events, samples, exact, "
		"repeated,\n"
		"              lost, divergences\n"
		"  --stop=WAY  evaluate conditional stops by one way only\n"
		"\n"
		"DIR is a recording's folder or name; the latest one if it is left out.\n"
		"A sample is exact if one place of the replay matches it, repeated if "
		"several\n"
		"do, lost if none does: report and samples show it from then on. The exit "
		"status is 1 after a divergence or a "
		"loss.\n",
	.run = run,
};
