/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * files.h - keep copies of the files that a program maps.
 */
#ifndef PLAYHEAD_TRACE_FILES_H
#define PLAYHEAD_TRACE_FILES_H

#include "trace/format.h"

struct files;

/* Makes files/ below the trace folder. */
int files_new(struct files **out, int dirfd) __must_check;
void files_free(struct files *f);
/*
 * Keep the file open at @fd. 1: it is new, 0: it was kept before, -errno.
 * *@out is filled (strings borrowed from @f and @name).
 */
int files_keep(struct files *f, int fd, const char *name,
	       struct trace_file *out) __must_check;

#endif
