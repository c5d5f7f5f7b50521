/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "gdbstub/codec.h"
#include "gdbstub/monitor.h"

/* If @line begins with the words of @name: what follows them, else NULL. */
static const char *after_words(const char *line, const char *name)
{
	while (*name) {
		if (*name == ' ') {
			if (!isspace((u8)*line))
				return NULL;
			while (isspace((u8)*line))
				line++;
			name++;
		} else if (*line++ != *name++) {
			return NULL;
		}
	}
	if (*line && !isspace((u8)*line))
		return NULL;
	while (isspace((u8)*line))
		line++;
	return line;
}

static const struct gdb_monitor *monitor_find(const struct gdb_monitor *table,
					      const char *line, const char **args)
{
	const struct gdb_monitor *best = NULL;

	for (const struct gdb_monitor *m = table; m->name; m++) {
		const char *rest = after_words(line, m->name);

		if (rest && (!best || strlen(m->name) > strlen(best->name))) {
			best = m;
			*args = rest;
		}
	}
	return best;
}

static void help_row(struct wbuf *out, const char *name, const char *args, const char *help)
{
	int used = strlen(name) + 1 + strlen(args);

	put_fmt(out, "  %s %s%*s %s\n", name, args, MAX(0, 30 - used), "", help);
}

static int monitor_help(const struct gdb_monitor *table, const char *about,
			struct wbuf *out)
{
	bool any = false;

	if (!*about)
		put_str(out, "Commands, each typed after \"monitor\":\n");
	for (const struct gdb_monitor *m = table; m->name; m++) {
		if (*about && !after_words(m->name, about))
			continue;
		help_row(out, m->name, m->args, m->help);
		any = true;
	}
	if (!*about)
		help_row(out, "help", "[COMMAND]", "this list, or one command of it");
	if (any)
		return 0;
	put_fmt(out, "no monitor command '%s'\n", about);
	return -EINVAL;
}

int monitor_run(const struct gdb_monitor *table, void *ctx, const char *line,
		struct wbuf *out)
{
	const struct gdb_monitor *m;
	const char *args;
	char *copy;
	size_t n;
	int r;

	while (isspace((u8)*line))
		line++;
	copy = strdup(line);
	if (!copy)
		return -ENOMEM;
	for (n = strlen(copy); n && isspace((u8)copy[n - 1]); n--)
		copy[n - 1] = 0;
	args = after_words(copy, "help");
	if (args || !*copy) {
		r = monitor_help(table, args ? args : "", out);
	} else {
		m = monitor_find(table, copy, &args);
		if (m) {
			r = m->run(ctx, args, out);
		} else {
			put_fmt(out, "no monitor command '%s'; try: monitor help\n", copy);
			r = -EINVAL;
		}
	}
	free(copy);
	return r;
}
