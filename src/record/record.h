/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * record.h - run a program and write down all that enters it from outside.
 */
#ifndef PLAYHEAD_RECORD_H
#define PLAYHEAD_RECORD_H

#include "base/base.h"

struct record_opts {
	const char *dir; /* NULL: NAME-N below the home of traces */
	u32 hz;		 /* samples a second, 0: none */
	bool wall;	 /* samples while asleep too */
	bool quiet;	 /* no line about the trace at the end */
	char **argv;	 /* program and arguments, NULL-terminated */
};

/*
 * Record. *@status: what a shell would say of the program (0..255), 126 or 127
 * if it could not be started. Logs on failure.
 */
int record_run(const struct record_opts *o, int *status) __must_check;

#endif
