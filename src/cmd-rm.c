/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cmd.h"
#include "trace/trace.h"

static int run(int argc, char **argv)
{
	char path[PATH_MAX];
	int status = 0, first = 1;

	if (argc > 1 && !strcmp(argv[1], "--"))
		first = 2;
	else if (argc > 1 && argv[1][0] == '-')
		return cmd_usage_error(&cmd_rm, "cannot use '%s'", argv[1]);
	if (first >= argc)
		return cmd_usage_error(&cmd_rm, "which trace");
	for (int i = first; i < argc; i++) {
		int err = trace_dir_find(argv[i], path, sizeof(path));

		if (!err) {
			err = trace_dir_remove(path);
			if (err == -EBUSY)
				log_error("%s is being recorded", path);
			else if (err)
				log_error("cannot remove %s: %s", path, strerror(-err));
		}
		if (err)
			status = 1;
	}
	return status;
}

const struct cmd cmd_rm = {
	.name = "rm",
	.args = "TRACE...",
	.summary = "remove traces",
	.help = "TRACE is a folder or a name that 'playhead list' shows. What is not\n"
		"a trace, and one that is being recorded, is left alone. If the latest\n"
		"goes, the newest of those left takes its place.\n",
	.run = run,
};
