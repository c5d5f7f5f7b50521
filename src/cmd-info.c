/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/json.h"
#include "base/term.h"
#include "cmd.h"
#include "trace/trace.h"

static const char *const sampler_names[] = {[SAMPLER_NONE] = "none",
					    [SAMPLER_BPF] = "bpf",
					    [SAMPLER_PERF] = "perf",
					    [SAMPLER_TIMER] = "timer"};

struct info {
	const struct trace_meta *meta;
	const struct trace_end *end;
	const char *dir;
	u64 by_type[NR_EVENT_TYPES];
	u64 processes, threads, files, bytes;
};

static int gather(struct info *i, struct trace_reader *r)
{
	const struct event *ev;
	struct trace_cursor *c;
	int err;

	i->meta = trace_reader_meta(r);
	i->end = trace_reader_end(r);
	i->dir = trace_reader_dir(r);
	i->bytes = trace_dir_size(i->dir);
	while (trace_reader_file(r, i->files + 1))
		i->files++;
	err = trace_cursor_new(r, &c);
	if (err)
		return err;
	while ((err = trace_cursor_next(c, &ev)) == 1) {
		i->by_type[ev->type]++;
		if (ev->type == EV_START) {
			i->processes++;
			i->threads++;
		}
		for (u32 k = 0; k < ev->n_effects; k++) {
			if (ev->effects[k].kind != EF_FORK)
				continue;
			i->threads++;
			i->processes += ev->effects[k].fork.pid == ev->effects[k].fork.tid;
		}
	}
	trace_cursor_free(c);
	return err;
}

static void status_text(const struct trace_end *e, char *out, size_t n)
{
	if (!e->clean)
		snprintf(out, n, "unknown: %s", e->why);
	else if (WIFSIGNALED(e->status))
		snprintf(out, n, "killed by signal %d (%s)", WTERMSIG(e->status),
			 strsignal(WTERMSIG(e->status)));
	else
		snprintf(out, n, "exit status %d", WEXITSTATUS(e->status));
}

static void print_json(const struct info *i)
{
	struct json j = json_to(stdout);
	const struct trace_meta *m = i->meta;

	json_object(&j, NULL);
	json_str(&j, "path", i->dir);
	json_str(&j, "program", m->program);
	json_str(&j, "command", m->args);
	json_str(&j, "cwd", m->cwd);
	json_str(&j, "host", m->host);
	json_str(&j, "kernel", m->kernel);
	json_str(&j, "cpu", m->cpu);
	json_u64(&j, "format", m->version);
	json_u64(&j, "start_time_ns", m->start_time_ns);
	json_u64(&j, "duration_ns", i->end->time_ns);
	json_bool(&j, "complete", i->end->clean && !i->end->why[0]);
	json_s64(&j, "status", i->end->status);
	json_str(&j, "why", i->end->why);
	json_u64(&j, "events", i->end->events);
	json_u64(&j, "samples", i->end->samples);
	json_u64(&j, "samples_lost", i->end->lost);
	json_u64(&j, "sample_hz", m->sample_hz);
	json_str(&j, "sampler", sampler_names[m->sampler]);
	json_str(&j, "sampler_why", m->sampler_why);
	json_str(&j, "sample_event", m->sample_event ? "wall" : "cpu-clock");
	json_u64(&j, "processes", i->processes);
	json_u64(&j, "threads", i->threads);
	json_u64(&j, "files", i->files);
	json_u64(&j, "bytes", i->bytes);
	json_object(&j, "events_by_type");
	for (int t = EV_START; t < NR_EVENT_TYPES; t++)
		json_u64(&j, event_type_names[t], i->by_type[t]);
	json_end(&j);
	json_end(&j);
}

static void print_text(const struct info *i)
{
	const struct trace_meta *m = i->meta;
	time_t t = m->start_time_ns / NSEC_PER_SEC;
	char when[64] = "?", status[128], clean[1024];
	struct tm tm;

	if (localtime_r(&t, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %z", &tm);
	status_text(i->end, status, sizeof(status));
	printf("trace      %s\n", i->dir);
	printf("command    %s\n", term_clean(m->args, clean, sizeof(clean)));
	printf("in         %s\n", term_clean(m->cwd, clean, sizeof(clean)));
	printf("recorded   %s, %.3f s, on %s (%s, %s)\n", when, i->end->time_ns / 1e9,
	       m->host, m->cpu, m->kernel);
	printf("ended      %s\n", status);
	if (i->end->clean && i->end->why[0])
		printf("early      %s\n", i->end->why);
	printf("size       %.1f MiB, %" PRIu64 " files kept\n", i->bytes / 1048576.0,
	       i->files);
	printf("processes  %" PRIu64 ", threads %" PRIu64 "\n", i->processes, i->threads);
	printf("samples    %" PRIu64 ", lost %" PRIu64 ", %u Hz %s by %s%s%s\n",
	       i->end->samples, i->end->lost, m->sample_hz,
	       m->sample_event ? "wall" : "cpu-clock", sampler_names[m->sampler],
	       m->sampler_why[0] ? ": " : "", m->sampler_why);
	printf("events     %" PRIu64 "\n", i->end->events);
	for (int k = EV_START; k < NR_EVENT_TYPES; k++)
		if (i->by_type[k])
			printf("  %-8s %" PRIu64 "\n", event_type_names[k], i->by_type[k]);
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		  {0 }
	     };
	struct trace_reader *r;
	struct info i = {0};
	char dir[PATH_MAX];
	bool json = false;
	int o, err;

	opterr = 0;
	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == '?')
			return cmd_bad_option(&cmd_info, argv);
		json = true;
	}
	if (argc - optind > 1)
		return cmd_usage_error(&cmd_info, "one trace at a time, not '%s'",
				       argv[optind + 1]);
	if (trace_dir_find(argv[optind], dir, sizeof(dir)) || trace_reader_open(&r, dir))
		return 1;
	err = gather(&i, r);
	if (json)
		print_json(&i);
	else
		print_text(&i);
	trace_reader_free(r);
	return err ? 1 : 0;
}

const struct cmd cmd_info = {
	.name = "info",
	.args = "[--json] [TRACE]",
	.summary = "tell what a trace holds",
	.help = "  --json  one object with the keys path, program, command, cwd, host, "
		"kernel,\n"
		"          cpu, format, start_time_ns, duration_ns, complete, status, "
		"why,\n"
		"          events, samples, samples_lost, sample_hz, sampler, "
		"sampler_why,\n"
		"          sample_event, processes, threads, files, bytes, events_by_type\n"
		"\n"
		"TRACE is a folder or a name that 'playhead list' shows; by default the "
		"latest.\n",
	.run = run,
};
