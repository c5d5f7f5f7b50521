/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gdb-monitor.c - what is typed after "monitor".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "gdbstub/codec.h"
#include "replay/gdb-host.h"
#include "replay/gdb-names.h"

typedef unsigned long long ull;

/* One decimal number, or nothing: then *@n stays. Else a line and -EINVAL. */
static int take_number(const char **args, u64 *n, struct wbuf *out)
{
	char *end;

	while (**args == ' ')
		++*args;
	if (!**args)
		return 0;
	errno = 0;
	*n = strtoull(*args, &end, 10);
	if (errno || end == *args || (*end && *end != ' ') || **args == '-') {
		put_fmt(out, "'%s' is not a number\n", *args);
		return -EINVAL;
	}
	*args = end;
	return 1;
}

static int no_more(const char *args, struct wbuf *out)
{
	while (*args == ' ')
		args++;
	if (!*args)
		return 0;
	put_fmt(out, "too much: '%s'\n", args);
	return -EINVAL;
}

static u64 samples_of(struct gdb_host *h)
{
	return trace_reader_samples(h->r);
}

/* ---- sample lines ---- */

static const char *const kind_names[] = {[SAMPLE_USER] = "",
					 [SAMPLE_SYSCALL] = " in a system call",
					 [SAMPLE_BLOCKED] = " blocked"};

static void put_place(struct gdb_host *h, const struct sample *s, struct wbuf *out)
{
	const char *name = names_sample(h->names, s->number);

	put_fmt(out, "0x%llx", (ull)s->point.regs.r[X86_RIP]);
	if (name)
		put_fmt(out, " %s", name);
	put_str(out, kind_names[s->kind < ARRAY_SIZE(kind_names) ? s->kind : 0]);
}

static void put_sample(struct gdb_host *h, const struct sample *s, struct wbuf *out)
{
	u64 matches = names_matches(h->names, s->number);

	put_fmt(out, "%8llu  %12.6f s  thread %u.%u  event %llu  ", (ull)s->number,
		s->time_ns / 1e9, s->pid, s->tid, (ull)s->point.event);
	put_place(h, s, out);
	if (!matches)
		put_str(out, ", lost when last verified");
	else if (matches > 1)
		put_fmt(out, ", one of %llu places that match", (ull)matches);
	put_str(out, "\n");
}

/* -ERANGE with a line that names the range. */
static int get_sample(struct gdb_host *h, u64 number, const struct sample **s,
		      struct wbuf *out)
{
	int r;

	if (!samples_of(h)) {
		put_str(out, "the recording has no samples\n");
		return -ERANGE;
	}
	if (!number || number > samples_of(h)) {
		put_fmt(out, "no sample %llu: they are numbered 1 to %llu\n", (ull)number,
			(ull)samples_of(h));
		return -ERANGE;
	}
	r = trace_reader_sample(h->r, number, s);
	if (r < 0)
		put_fmt(out, "sample %llu cannot be read: %s\n", (ull)number, strerror(-r));
	return r;
}

/* ---- the profile ---- */

struct top_row {
	const char *name;
	u64 weight, first;
};

static int by_name(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return strcmp(x->name, y->name) ?: (x->first > y->first) - (x->first < y->first);
}

static int by_weight(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return (x->weight < y->weight) - (x->weight > y->weight) ?: by_name(a, b);
}

/* All samples as rows, equal names joined. Returns how many rows. */
static s64 top_rows(struct gdb_host *h, struct top_row *v, u64 *total)
{
	u64 n = samples_of(h), rows = 0;

	*total = 0;
	for (u64 i = 1; i <= n; i++) {
		const struct sample *s;
		int r = trace_reader_sample(h->r, i, &s);

		if (r < 0)
			return r;
		v[i - 1] = (struct top_row){names_sample(h->names, i) ?: "?", s->weight, i};
		*total += s->weight;
	}
	qsort(v, n, sizeof(*v), by_name);
	for (u64 i = 0; i < n; i++) {
		if (rows && !strcmp(v[rows - 1].name, v[i].name))
			v[rows - 1].weight += v[i].weight;
		else
			v[rows++] = v[i];
	}
	qsort(v, rows, sizeof(*v), by_weight);
	return rows;
}

static int cmd_top(void *ctx, const char *args, struct wbuf *out)
{
	struct gdb_host *h = ctx;
	u64 want = 20, total = 0;
	struct top_row *v;
	s64 rows;
	int r = take_number(&args, &want, out);

	if (r >= 0)
		r = no_more(args, out);
	if (!r)
		r = names_load(h);
	if (r < 0)
		return r;
	v = calloc(samples_of(h) + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	rows = top_rows(h, v, &total);
	put_fmt(out, "%llu samples\n   share    count  first  function\n",
		(ull)samples_of(h));
	for (s64 i = 0; i < rows && i < (s64)want; i++)
		put_fmt(out, "%6.2f %% %8llu %6llu  %s\n",
			100.0 * v[i].weight / (total ?: 1), (ull)v[i].weight,
			(ull)v[i].first, v[i].name);
	free(v);
	return rows < 0 ? rows : 0;
}

static int cmd_list(void *ctx, const char *args, struct wbuf *out)
{
	struct gdb_host *h = ctx;
	u64 from = 1, count = 20;
	const struct sample *s;
	int r = take_number(&args, &from, out);

	if (r > 0)
		r = take_number(&args, &count, out);
	if (r >= 0)
		r = no_more(args, out);
	if (!r)
		r = names_load(h);
	if (!r)
		r = get_sample(h, from, &s, out);
	for (u64 i = 0; !r && i < count && from + i <= samples_of(h); i++) {
		r = get_sample(h, from + i, &s, out);
		if (!r)
			put_sample(h, s, out);
	}
	return r;
}

static void put_kernel(struct gdb_host *h, const struct sample *s, struct wbuf *out)
{
	for (u32 i = 0; i < s->n_kernel && i < SAMPLE_MAX_KERNEL; i++)
		put_fmt(out, "  kernel  0x%llx %s\n", (ull)s->kernel[i],
			trace_reader_ksym(h->r, s->kernel[i]) ?: "?");
}

static int cmd_show(void *ctx, const char *args, struct wbuf *out)
{
	struct gdb_host *h = ctx;
	u64 number = h->sample;
	const struct sample *s;
	int r = take_number(&args, &number, out);

	if (r >= 0)
		r = no_more(args, out);
	if (!r)
		r = names_load(h);
	if (!r)
		r = get_sample(h, number, &s, out);
	if (r < 0)
		return r;
	put_sample(h, s, out);
	put_kernel(h, s, out);
	for (int i = 0; i < NR_REGS; i++)
		put_fmt(out, "  %-8s 0x%llx\n", reg_names[i], (ull)s->point.regs.r[i]);
	return 0;
}

/* ---- going there ---- */

static const char refresh_hint[] =
	"If gdb does not show the new place by itself, type:\n"
	"  maintenance flush register-cache\n  maintenance flush dcache\n"
	"  sharedlibrary\n  frame\n";

static void put_failed(struct gdb_host *h, int err, const char *what, u64 n,
		       struct wbuf *out)
{
	const struct divergence *d;

	switch (err) {
	case -ENOENT:
		put_fmt(out, "%s %llu is lost: no state after its event equals it\n", what,
			(ull)n);
		break;
	case -EINTR:
		put_fmt(out, "interrupted before %s %llu was reached\n", what, (ull)n);
		break;
	case -EILSEQ:
		d = timeline_divergence(h->t);
		put_fmt(out, "replay diverges at event %llu, thread %u: %s: %s\n",
			d ? (ull)d->event : 0, d ? d->tid : 0, d ? d->what : "?",
			d ? d->detail : "");
		break;
	default:
		put_fmt(out, "%s %llu cannot be reached: %s\n", what, (ull)n,
			strerror(-err));
		break;
	}
}

/* Leaves a diversion; long travel shows signs of life. */
static int depart(struct gdb_host *h)
{
	h->told_end = false;
	h->show_progress = true;
	h->progress_ns = now_ns();
	return host_rejoin(h);
}

static int go_to_sample(struct gdb_host *h, u64 number, struct wbuf *out)
{
	const struct sample *sp;
	struct sample s;
	int r = get_sample(h, number, &sp, out);

	if (r < 0)
		return r;
	s = *sp;
	if (s.pid != h->pid) {
		put_fmt(out,
			"sample %llu is of process %u, and process %u is served here; "
			"type\n"
			"  playhead gdb --process %u %s\n",
			(ull)number, s.pid, h->pid, s.pid, trace_reader_dir(h->r));
		return -EXDEV;
	}
	r = depart(h);
	if (!r)
		r = timeline_seek_sample(h->t, number);
	h->show_progress = false;
	if (r < 0) {
		put_failed(h, r, "sample", number, out);
		return r;
	}
	h->sample = number;
	h->sample_dir = 0;
	put_str(out, refresh_hint);
	put_str(out, "at sample ");
	put_sample(h, &s, out);
	return 0;
}

static int cmd_goto_sample(void *ctx, const char *args, struct wbuf *out)
{
	u64 number = 0;
	int r = take_number(&args, &number, out);

	if (!r) {
		put_str(out, "which one? goto-sample N\n");
		return -EINVAL;
	}
	if (r > 0)
		r = no_more(args, out);
	return r < 0 ? r : go_to_sample(ctx, number, out);
}

/* The event after whose place a sample surely lies; one in a system call
 * stands at the entry, before that call's own event. */
static u64 sample_after(const struct sample *s)
{
	return s->kind == SAMPLE_USER ? s->point.event : s->point.event - 1;
}

/* How many samples lie before (or, @with, in) the interval after @event. */
static u64 samples_until(struct gdb_host *h, u64 event, bool with)
{
	u64 lo = 0, hi = samples_of(h);

	while (lo < hi) {
		u64 mid = lo + (hi - lo + 1) / 2;
		const struct sample *s;
		bool in = !trace_reader_sample(h->r, mid, &s) &&
			  (with ? sample_after(s) <= event : sample_after(s) < event);

		if (in)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

/*
 * Where the present lies among samples: *@before is the last one before it,
 * *@after the first after it. The one that was gone to last, and the direction
 * it was left in, decide within one interval; else the event does.
 */
static void neighbours(struct gdb_host *h, u64 *before, u64 *after)
{
	const struct sample *s;
	struct timeline_where w;

	timeline_where(h->t, &w);
	if (h->sample && !trace_reader_sample(h->r, h->sample, &s) &&
	    (sample_after(s) == w.event || !h->sample_dir)) {
		*before = h->sample_dir > 0 ? h->sample : h->sample - 1;
		*after = h->sample_dir < 0 ? h->sample : h->sample + 1;
		return;
	}
	*before = samples_until(h, w.event, false);
	*after = (w.at_start ? *before : samples_until(h, w.event, true)) + 1;
}

static int go_to_neighbour(struct gdb_host *h, bool backwards, const char *args,
			   struct wbuf *out)
{
	int step = backwards ? -1 : 1, r = no_more(args, out);
	u64 before, after, n;

	if (r < 0)
		return r;
	r = host_rejoin(h);
	if (r < 0)
		return r;
	neighbours(h, &before, &after);
	for (n = backwards ? before : after; n >= 1 && n <= samples_of(h); n += step) {
		const struct sample *s;

		r = get_sample(h, n, &s, out);
		if (r < 0)
			return r;
		if (s->pid == h->pid)
			return go_to_sample(h, n, out);
	}
	put_fmt(out, "no sample of process %u %s the present\n", h->pid,
		backwards ? "before" : "after");
	return -ERANGE;
}

static int cmd_next(void *ctx, const char *args, struct wbuf *out)
{
	return go_to_neighbour(ctx, false, args, out);
}

static int cmd_prev(void *ctx, const char *args, struct wbuf *out)
{
	return go_to_neighbour(ctx, true, args, out);
}

static int cmd_goto_event(void *ctx, const char *args, struct wbuf *out)
{
	struct gdb_host *h = ctx;
	struct timeline_where w;
	u64 number = 0;
	int r = take_number(&args, &number, out);

	if (!r) {
		put_str(out, "which one? goto-event N\n");
		return -EINVAL;
	}
	if (r > 0)
		r = no_more(args, out);
	if (r < 0)
		return r;
	timeline_where(h->t, &w);
	if (number < h->begin || number > w.events) {
		put_fmt(out, "no event %llu: they go from %llu to %llu\n", (ull)number,
			(ull)h->begin, (ull)w.events);
		return -ERANGE;
	}
	r = depart(h);
	if (!r)
		r = timeline_seek_event(h->t, number);
	h->show_progress = false;
	h->sample = 0;
	if (r < 0) {
		put_failed(h, r, "event", number, out);
		return r;
	}
	put_str(out, refresh_hint);
	put_fmt(out, "after event %llu\n", (ull)number);
	return 0;
}

/* ---- where, what ---- */

static int cmd_when(void *ctx, const char *args, struct wbuf *out)
{
	struct gdb_host *h = ctx;
	struct timeline_where w;
	struct gdb_thread th;
	int r = no_more(args, out);

	if (r < 0)
		return r;
	timeline_where(h->t, &w);
	host_present(h, &th);
	put_fmt(out, "event %llu of %llu, %.6f s, thread %u.%u", (ull)w.event,
		(ull)w.events, w.time_ns / 1e9, th.pid, th.tid);
	if (w.at_start)
		put_str(out, ", at the start");
	if (w.at_end)
		put_str(out, ", at the end");
	if (w.in_syscall)
		put_str(out, ", entering a system call");
	if (h->sample && !h->sample_dir)
		put_fmt(out, ", at sample %llu", (ull)h->sample);
	if (timeline_diverted(h->t))
		put_str(out, ", in a diversion");
	if (timeline_exe(h->t, h->pid))
		put_fmt(out, ", program %s", timeline_exe(h->t, h->pid));
	put_str(out, "\n");
	return 0;
}

static int cmd_info(void *ctx, const char *args, struct wbuf *out)
{
	static const char *const samplers[] = {
		[SAMPLER_NONE] = "none",
		[SAMPLER_BPF] = "BPF",
		[SAMPLER_PERF] = "the perf ring",
		[SAMPLER_TIMER] = "a CPU timer",
	};
	struct gdb_host *h = ctx;
	const struct trace_meta *m = trace_reader_meta(h->r);
	const struct trace_end *e = trace_reader_end(h->r);
	int r = no_more(args, out);

	if (r < 0)
		return r;
	put_fmt(out, "%s\nrecording %s\n", m->args, trace_reader_dir(h->r));
	put_fmt(out, "%llu events, %llu samples at %u Hz by %s, %llu lost\n",
		(ull)e->events, (ull)e->samples, m->sample_hz,
		m->sampler < ARRAY_SIZE(samplers) ? samplers[m->sampler] : "?",
		(ull)e->lost);
	put_fmt(out, "%.3f s on %s, %s\n", e->time_ns / 1e9, m->cpu, m->kernel);
	if (!e->clean)
		put_fmt(out, "cut short%s%s\n", e->why && *e->why ? ": " : "",
			e->why ?: "");
	put_fmt(out, "process %u is served\n", h->pid);
	return 0;
}

const struct gdb_monitor host_monitor[] = {
	{"samples top",	"[N]",	       "the N functions (20) with the most samples", cmd_top	    },
	{"samples list", "[FROM [COUNT]]", "samples in time order",			    cmd_list	    },
	{"samples show", "[N]",		"one sample with its registers",		 cmd_show	 },
	{"goto-sample",	"N",		     "stand where sample N was taken",	       cmd_goto_sample},
	{"next-sample",	"",		    "the sample after the present",		    cmd_next	    },
	{"prev-sample",	"",		    "the sample before the present",		     cmd_prev	     },
	{"goto-event",   "N",		    "stand right after event N",			 cmd_goto_event },
	{"when",	 "",		     "where the present is in the recording",      cmd_when	      },
	{"info",	 "",		     "what was recorded, and how",		   cmd_info	   },
	{NULL,	       NULL,	     NULL,					 NULL	       },
};
