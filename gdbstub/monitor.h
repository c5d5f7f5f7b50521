/* SPDX-License-Identifier: GPL-3.0-or-later */
/* monitor.h - find a monitor command in the host's table and run it. */
#ifndef GDBSTUB_MONITOR_H
#define GDBSTUB_MONITOR_H

#include "gdbstub/target.h"

/*
 * Run @line. "help [COMMAND]" is built in and made from the table. Unknown:
 * a line that says so, -EINVAL. Words are split by blanks; a name of several
 * words ("samples top") must be typed whole.
 */
int monitor_run(const struct gdb_monitor *table, void *ctx, const char *line,
		struct wbuf *out) __must_check;

#endif
