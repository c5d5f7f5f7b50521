/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cmd-report.c - playhead report: where the time went, by functions, threads
 * or source lines, straight from the samples.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/log.h"
#include "base/term.h"
#include "cmd.h"
#include "sample/verdicts.h"
#include "sym/sym.h"

#define DEFAULT_ROWS 40

enum by { BY_FUNCTION, BY_THREAD, BY_LINE, NR_BY };

static const char *const by_names[NR_BY] = {
	[BY_FUNCTION] = "function",
	[BY_THREAD] = "thread",
	[BY_LINE] = "line",
};

static const char *const sampler_names[] = {
	[SAMPLER_NONE] = "none",
	[SAMPLER_BPF] = "bpf",
	[SAMPLER_PERF] = "perf",
	[SAMPLER_TIMER] = "timer",
};

struct wish {
	enum by by;
	u64 rows; /* 0: all */
	bool user, json;
};

/* What equal samples have in common; names are offsets in report.text. */
struct row {
	size_t func, file, source; /* 0: none */
	u64 pid, tid;
	int line;
	bool kernel;
	u64 weight;
};

struct report {
	const struct wish *wish;
	struct trace_reader *r;
	struct sym *sym;
	struct row *rows;
	size_t n, cap;
	u32 *slots; /* hash table of row index + 1 */
	size_t n_slots;
	struct wbuf text; /* begins with a NUL: offset 0 is "" */
	u64 total, kernel;
	struct verdicts verdicts;
};

static const char *text(const struct report *p, size_t at)
{
	return (const char *)p->text.data + at;
}

/* ---- counting ---- */

/* What a sample counts for, with names still borrowed. */
struct key {
	const char *func, *file, *source;
	u64 pid, tid;
	int line;
	bool kernel;
};

static u64 key_hash(const struct key *k)
{
	u64 h = XXH3_64bits_withSeed(k->func, strlen(k->func), k->line);

	h = XXH3_64bits_withSeed(k->file, strlen(k->file), h);
	h = XXH3_64bits_withSeed(k->source, strlen(k->source), h);
	return XXH3_64bits_withSeed(&k->tid, sizeof(k->tid), h ^ k->pid << 1 ^ k->kernel);
}

static bool row_is(const struct report *p, const struct row *r, const struct key *k)
{
	return r->pid == k->pid && r->tid == k->tid && r->line == k->line &&
	       r->kernel == k->kernel && !strcmp(text(p, r->func), k->func) &&
	       !strcmp(text(p, r->file), k->file) && !strcmp(text(p, r->source), k->source);
}

static struct key row_key(const struct report *p, const struct row *r)
{
	return (struct key){text(p, r->func), text(p, r->file), text(p, r->source), r->pid,
			    r->tid,	      r->line,		r->kernel};
}

static size_t keep(struct report *p, const char *s)
{
	size_t at = p->text.len;

	if (!*s)
		return 0;
	wbuf_bytes(&p->text, s, strlen(s) + 1);
	return at;
}

static int grow_slots(struct report *p)
{
	size_t n = p->n_slots ? p->n_slots * 2 : 1024;
	u32 *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++) {
		struct key k = row_key(p, &p->rows[i]);
		size_t at = key_hash(&k) & (n - 1);

		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = i + 1;
	}
	free(p->slots);
	p->slots = slots;
	p->n_slots = n;
	return 0;
}

static int count(struct report *p, const struct key *k, u64 weight)
{
	struct row *r;
	size_t at;
	int err = 0;

	if (2 * p->n >= p->n_slots)
		err = grow_slots(p);
	if (!err)
		err = array_reserve(&p->rows, &p->cap, p->n + 1, sizeof(*p->rows));
	if (err)
		return err;
	p->total += weight;
	if (k->kernel)
		p->kernel += weight;
	at = key_hash(k) & (p->n_slots - 1);
	for (; p->slots[at]; at = (at + 1) & (p->n_slots - 1)) {
		r = &p->rows[p->slots[at] - 1];
		if (row_is(p, r, k)) {
			r->weight += weight;
			return 0;
		}
	}
	r = &p->rows[p->n++];
	p->slots[at] = p->n;
	*r = (struct row){keep(p, k->func), keep(p, k->file), keep(p, k->source), k->pid,
			  k->tid,	    k->line,	      k->kernel,	  weight};
	return p->text.err;
}

static int take(void *ctx, const struct sample *s, const struct maps *maps)
{
	struct report *p = ctx;
	struct key k = {"", "", "", 0, 0, 0, false};
	struct sym_line line = {0};
	struct sym_name n;

	if (p->wish->user)
		sym_name(p->sym, maps, s->point.regs.r[X86_RIP], &n);
	else
		k.kernel = sym_sample_name(p->sym, s, maps, &n);
	if (p->wish->by == BY_THREAD) {
		k = (struct key){"", "", "", s->pid, s->tid, 0, false};
		return count(p, &k, s->weight);
	}
	if (p->wish->by == BY_LINE && !k.kernel)
		sym_line(p->sym, maps, s->point.regs.r[X86_RIP], &line);
	k.func = n.func ? n.func : "[unknown]";
	k.file = n.file;
	if (line.source) {
		k.source = line.source;
		k.line = line.line;
	}
	return count(p, &k, s->weight);
}

static int heaviest_first(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	/* Rows that tie keep the order they were met in. */
	if (a->func != b->func)
		return a->func < b->func ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->line - b->line;
}

/* ---- showing ---- */

static double share(const struct report *p, u64 weight)
{
	return p->total ? (double)weight / p->total : 0;
}

static void row_json(const struct report *p, struct json *j, const struct row *r)
{
	json_object(j, NULL);
	json_double(j, "share", share(p, r->weight), 6);
	json_u64(j, "samples", r->weight);
	if (p->wish->by == BY_THREAD) {
		json_u64(j, "pid", r->pid);
		json_u64(j, "tid", r->tid);
	} else {
		json_str(j, "function", text(p, r->func));
		json_str(j, "file", text(p, r->file));
		json_bool(j, "kernel", r->kernel);
	}
	if (p->wish->by == BY_LINE) {
		json_str(j, "source", r->source ? text(p, r->source) : NULL);
		json_s64(j, "line", r->line);
	}
	json_end(j);
}

/* Null where no verify has looked at the recording as it is. */
static void verified_json(const struct report *p, struct json *j)
{
	const struct verdicts *v = &p->verdicts;

	if (!v->samples) {
		json_str(j, "verified", NULL);
		return;
	}
	json_object(j, "verified");
	json_u64(j, "exact", v->samples - v->repeated - v->lost);
	json_u64(j, "repeated", v->repeated);
	json_u64(j, "lost", v->lost);
	json_end(j);
}

static void show_json(const struct report *p, size_t rows)
{
	const struct trace_meta *m = trace_reader_meta(p->r);
	const struct trace_end *e = trace_reader_end(p->r);
	struct json j = json_to(stdout);

	json_object(&j, NULL);
	json_str(&j, "path", trace_reader_dir(p->r));
	json_str(&j, "command", m->args);
	json_str(&j, "by", by_names[p->wish->by]);
	json_u64(&j, "samples", p->total);
	json_u64(&j, "samples_lost", e->lost);
	json_u64(&j, "sample_hz", m->sample_hz);
	json_str(&j, "sampler", sampler_names[m->sampler]);
	verified_json(p, &j);
	json_array(&j, "rows");
	for (size_t i = 0; i < rows; i++)
		row_json(p, &j, &p->rows[i]);
	json_end(&j);
	json_end(&j);
}

static void show_head(const struct report *p)
{
	const struct trace_meta *m = trace_reader_meta(p->r);
	const struct trace_end *e = trace_reader_end(p->r);
	const struct verdicts *v = &p->verdicts;
	char args[512];

	printf("# %s\n# %s\n", trace_reader_dir(p->r),
	       term_clean(m->args, args, sizeof(args)));
	printf("# %" PRIu64 " samples at %u Hz of %s by the %s sampler, %" PRIu64 " lost",
	       p->total, m->sample_hz, m->sample_event ? "wall time" : "cpu-clock",
	       sampler_names[m->sampler], e->lost);
	if (!p->wish->user && p->wish->by != BY_THREAD)
		printf("; %.2f %% in the kernel", 100 * share(p, p->kernel));
	putchar('\n');
	if (v->samples)
		printf("# verified: %.2f %% exact, %" PRIu64 " repeated, %" PRIu64
		       " lost\n",
		       100.0 * (v->samples - v->repeated - v->lost) / v->samples,
		       v->repeated, v->lost);
	if (!e->clean)
		printf("# the recording was interrupted%s%s\n", *e->why ? ": " : "",
		       e->why);
	puts("#");
}

static void columns(struct term_table *t, enum by by)
{
	term_table_column(t, "SHARE", TERM_RIGHT);
	term_table_column(t, "SAMPLES", TERM_RIGHT);
	if (by == BY_THREAD) {
		term_table_column(t, "PID", TERM_RIGHT);
		term_table_column(t, "TID", TERM_RIGHT);
		return;
	}
	term_table_column(t, "    FUNCTION", TERM_LEFT);
	if (by == BY_LINE)
		term_table_column(t, "LINE", TERM_LEFT);
	term_table_column(t, "FILE", TERM_LEFT);
}

static int show_table(const struct report *p, size_t rows)
{
	struct term_table *t;
	int err = term_table_new(&t);

	if (err)
		return err;
	columns(t, p->wish->by);
	for (size_t i = 0; i < rows; i++) {
		const struct row *r = &p->rows[i];

		term_table_row(t);
		term_table_cell(t, "%.2f%%", 100 * share(p, r->weight));
		term_table_cell(t, "%" PRIu64, r->weight);
		if (p->wish->by == BY_THREAD) {
			term_table_cell(t, "%" PRIu64, r->pid);
			term_table_cell(t, "%" PRIu64, r->tid);
			continue;
		}
		term_table_cell(t, "[%c] %s", r->kernel ? 'k' : '.', text(p, r->func));
		if (p->wish->by == BY_LINE && r->source)
			term_table_cell(t, "%s:%d", text(p, r->source), r->line);
		else if (p->wish->by == BY_LINE)
			term_table_cell(t, "?");
		term_table_cell(t, "%s", text(p, r->file));
	}
	err = term_table_print(t, stdout, "# ");
	term_table_free(t);
	return err;
}

static int show(struct report *p)
{
	size_t rows = p->n;
	u64 rest = 0;
	int err;

	if (p->n)
		qsort(p->rows, p->n, sizeof(*p->rows), heaviest_first);
	if (p->wish->rows)
		rows = MIN(rows, p->wish->rows);
	if (p->wish->json) {
		show_json(p, rows);
		return 0;
	}
	show_head(p);
	err = show_table(p, rows);
	for (size_t i = rows; i < p->n; i++)
		rest += p->rows[i].weight;
	if (!err && rows < p->n)
		printf("# %zu more with %.2f %%; -n 0 shows all\n", p->n - rows,
		       100 * share(p, rest));
	return err;
}

static int report(struct trace_reader *r, const struct wish *w)
{
	struct report p = {.wish = w, .r = r};
	int err = sym_new(&p.sym, r);

	wbuf_u8(&p.text, 0);
	if (!err)
		err = verdicts_load(&p.verdicts, trace_reader_dir(r),
				    trace_reader_samples(r));
	if (err == -ENOENT)
		err = 0;
	if (!err)
		err = sym_each_sample(r, take, &p);
	if (!err && !p.total && !w->json)
		log_info("%s has no samples%s", trace_reader_dir(r),
			 trace_reader_meta(r)->sample_hz ? ": it ran too short a time"
							 : ": sampling was off");
	else if (!err)
		err = show(&p);
	verdicts_fini(&p.verdicts);
	sym_free(p.sym);
	wbuf_free(&p.text);
	free(p.slots);
	free(p.rows);
	return err;
}

/* ---- the command line ---- */

enum { OPT_BY = 1, OPT_USER, OPT_JSON };

static int find_by(const char *name, enum by *by)
{
	for (int i = 0; i < NR_BY; i++) {
		if (!strcmp(name, by_names[i])) {
			*by = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse(int argc, char **argv, struct wish *w)
{
	static const struct option options[] = {
		{"by",	       required_argument, NULL, OPT_BY},
		{"user",	 no_argument, NULL, OPT_USER},
		{"json",		 no_argument, NULL, OPT_JSON},
		{0},
	};
	char *end;
	int o;

	opterr = 0;
	while ((o = getopt_long(argc, argv, "n:", options, NULL)) != -1) {
		switch (o) {
		case OPT_BY:
			if (find_by(optarg, &w->by))
				return cmd_usage_error(
					&cmd_report,
					"--by takes function, thread or line, "
					"not '%s'",
					optarg);
			break;
		case OPT_USER:
			w->user = true;
			break;
		case OPT_JSON:
			w->json = true;
			break;
		case 'n':
			errno = 0;
			w->rows = strtoull(optarg, &end, 10);
			if (errno || *end || *optarg < '0' || *optarg > '9')
				return cmd_usage_error(&cmd_report, "'%s' is not a number",
						       optarg);
			break;
		default:
			return cmd_bad_option(&cmd_report, argv);
		}
	}
	if (argc - optind > 1)
		return cmd_usage_error(&cmd_report, "one recording at a time");
	return 0;
}

static int run(int argc, char **argv)
{
	struct wish w = {.rows = DEFAULT_ROWS};
	struct trace_reader *r = NULL;
	char dir[PATH_MAX];
	int err = parse(argc, argv, &w);

	if (err)
		return err;
	err = trace_dir_find(argv[optind], dir, sizeof(dir));
	if (!err)
		err = trace_reader_open(&r, dir);
	if (!err)
		err = report(r, &w);
	if (err == -ENOMEM)
		log_error("out of memory");
	trace_reader_free(r);
	return err ? 1 : 0;
}

const struct cmd cmd_report = {
	.name = "report",
	.args = "[--by function|thread|line] [-n N] [--user] [--json] [DIR]",
	.summary = "show where the time went, from the samples of a recording",
	.help = "  --by WHAT  a row for each function (default), thread or source line\n"
		"  -n N       the N rows with the most samples (default 40; 0: all)\n"
		"  --user     count what happened in the kernel for the user function "
		"that\n"
		"             entered it; else it counts for the kernel's function, marked "
		"[k]\n"
		"  --json     one object with the keys path, command, by, samples,\n"
		"             samples_lost, sample_hz, sampler, verified (null, or exact,\n"
		"             repeated, lost), rows; rows have share, "
		"samples,\n"
		"             and function, file, kernel (--by line: source, line too) or "
		"pid, "
		"tid\n"
		"\n"
		"DIR is a recording's folder or name; the latest one if it is left out.\n",
	.run = run,
};
