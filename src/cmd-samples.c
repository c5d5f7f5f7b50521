/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cmd-samples.c - playhead samples: every sample on a line of its own.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/term.h"
#include "cmd.h"
#include "sample/verdicts.h"
#include "sym/sym.h"

struct wish {
	u64 from, count; /* count 0: to the end */
	u64 tid;	 /* 0: all threads */
	const char *pattern;
	regex_t function;
	bool json;
};

struct listing {
	const struct wish *wish;
	struct sym *sym;
	struct verdicts verdicts;
	u64 shown;
};

static void place_text(const struct sym_name *n, char *out, size_t size)
{
	char raw[1024];

	if (n->func && n->offset)
		snprintf(raw, sizeof(raw), "%s+%#" PRIx64, n->func, n->offset);
	else if (n->func)
		snprintf(raw, sizeof(raw), "%s", n->func);
	else
		snprintf(raw, sizeof(raw), "%#" PRIx64, n->rva);
	term_clean(raw, out, size);
}

static void show_json(const struct listing *l, const struct sample *s,
		      const struct sym_name *n, bool kernel)
{
	struct json j = json_to(stdout);

	json_object(&j, NULL);
	json_u64(&j, "number", s->number);
	json_u64(&j, "time_ns", s->time_ns);
	json_u64(&j, "tid", s->tid);
	json_u64(&j, "event", s->point.event);
	json_hex(&j, "ip", s->point.regs.r[X86_RIP]);
	json_str(&j, "function", n->func);
	json_u64(&j, "offset", n->offset);
	json_str(&j, "file", n->file);
	json_bool(&j, "kernel", kernel);
	json_u64(&j, "weight", s->weight);
	if (l->verdicts.samples)
		json_u64(&j, "matches", verdicts_matches(&l->verdicts, s->number));
	else
		json_str(&j, "matches", NULL);
	json_end(&j);
}

static void show_text(const struct listing *l, const struct sample *s,
		      const struct sym_name *n, bool kernel)
{
	u64 matches = verdicts_matches(&l->verdicts, s->number);
	char place[512], file[512], verdict[32] = "";

	if (!matches)
		snprintf(verdict, sizeof(verdict), "  lost");
	else if (matches > 1)
		snprintf(verdict, sizeof(verdict), "  repeated %" PRIu64, matches);
	place_text(n, place, sizeof(place));
	printf("%8" PRIu64 " %14.6f %7u %9" PRIu64 " %16" PRIx64 " %s%s  %s%s\n", s->number,
	       s->time_ns / 1e9, s->tid, s->point.event, s->point.regs.r[X86_RIP],
	       kernel ? "[k] " : "[.] ", place, term_clean(n->file, file, sizeof(file)),
	       verdict);
}

static int show(void *ctx, const struct sample *s, const struct maps *maps)
{
	struct listing *l = ctx;
	const struct wish *w = l->wish;
	struct sym_name n;
	bool kernel;

	if (s->number < w->from || (w->tid && s->tid != w->tid))
		return 0;
	if (w->count && l->shown == w->count)
		return 1;
	kernel = sym_sample_name(l->sym, s, maps, &n);
	if (w->pattern && (!n.func || regexec(&w->function, n.func, 0, NULL, 0)))
		return 0;
	(w->json ? show_json : show_text)(l, s, &n, kernel);
	l->shown++;
	/* Whoever reads the pipe may have gone: no need to walk on. */
	return ferror(stdout) ? 1 : 0;
}

static int list(struct trace_reader *r, const struct wish *w)
{
	struct listing l = {.wish = w};
	u64 n = trace_reader_samples(r);
	int err;

	if (!n) {
		log_info("%s has no samples%s", trace_reader_dir(r),
			 trace_reader_meta(r)->sample_hz ? ": it ran too short a time"
							 : ": sampling was off");
		return 0;
	}
	if (w->from > n) {
		log_error("no sample %" PRIu64 ": there are samples 1 to %" PRIu64, w->from,
			  n);
		return -ERANGE;
	}
	err = verdicts_load(&l.verdicts, trace_reader_dir(r), n);
	if (!err || err == -ENOENT)
		err = sym_new(&l.sym, r);
	if (err)
		goto out;
	if (!w->json)
		printf("%s# %6s %14s %7s %9s %16s %s%s\n", term_on(stdout, TERM_BOLD),
		       "NUMBER", "SECONDS", "TID", "EVENT", "IP", "    FUNCTION  FILE",
		       term_off(stdout));
	err = sym_each_sample(r, show, &l);
	if (err >= 0 && !l.shown)
		log_info("none of the %" PRIu64 " samples fits", n);
out:
	sym_free(l.sym);
	verdicts_fini(&l.verdicts);
	return MIN(err, 0);
}

static int number(const char *text, u64 *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno || *end || text[0] < '0' || text[0] > '9' ? -EINVAL : 0;
}

enum { OPT_FROM = 1, OPT_COUNT, OPT_TID, OPT_FUNCTION, OPT_JSON };

static int parse(int argc, char **argv, struct wish *w)
{
	static const struct option options[] = {
		{"from",		 required_argument, NULL, OPT_FROM},
		{"count",		  required_argument, NULL, OPT_COUNT},
		{"tid",			required_argument, NULL, OPT_TID},
		{"function",required_argument, NULL, OPT_FUNCTION},
		{"json",	 no_argument, NULL, OPT_JSON},
		{0		  },
	};
	u64 *numbers[] = {
		[OPT_FROM] = &w->from, [OPT_COUNT] = &w->count, [OPT_TID] = &w->tid};
	int o;

	opterr = 0;
	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == '?')
			return cmd_bad_option(&cmd_samples, argv);
		if (o == OPT_JSON)
			w->json = true;
		else if (o == OPT_FUNCTION)
			w->pattern = optarg;
		else if (number(optarg, numbers[o]))
			return cmd_usage_error(&cmd_samples, "'%s' is not a number",
					       optarg);
	}
	if (argc - optind > 1)
		return cmd_usage_error(&cmd_samples, "one recording at a time");
	return 0;
}

static int run(int argc, char **argv)
{
	struct trace_reader *r = NULL;
	struct wish w = {0};
	char dir[PATH_MAX], why[256];
	int err = parse(argc, argv, &w), re;

	if (err)
		return err;
	re = w.pattern ? regcomp(&w.function, w.pattern, REG_EXTENDED | REG_NOSUB) : 0;
	if (re) {
		regerror(re, &w.function, why, sizeof(why));
		return cmd_usage_error(&cmd_samples, "'%s': %s", w.pattern, why);
	}
	err = trace_dir_find(argv[optind], dir, sizeof(dir));
	if (!err)
		err = trace_reader_open(&r, dir);
	if (!err)
		err = list(r, &w);
	if (err == -ENOMEM)
		log_error("out of memory");
	trace_reader_free(r);
	if (w.pattern)
		regfree(&w.function);
	return err ? 1 : 0;
}

const struct cmd cmd_samples = {
	.name = "samples",
	.args = "[--from N] [--count N] [--tid TID] [--function RE] [--json] [DIR]",
	.summary = "list the samples of a recording",
	.help = "  --from N       begin with sample N\n"
		"  --count N      show N samples\n"
		"  --tid TID      of this thread only\n"
		"  --function RE  whose function matches the extended regular expression\n"
		"  --json         one object a line with the keys number, time_ns, tid, "
		"event,\n"
		"                 ip, function, offset, file, kernel, weight, matches\n"
		"                 (null without a verify)\n"
		"\n"
		"DIR is a recording's folder or name; the latest one if it is left out.\n"
		"[k] marks samples taken in the kernel: FUNCTION is the kernel's, IP "
		"where\n"
		"the program had entered it.\n",
	.run = run,
};
