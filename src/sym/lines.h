/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lines.h - source lines from the DWARF of a file or of its debug file.
 */
#ifndef PLAYHEAD_SYM_LINES_H
#define PLAYHEAD_SYM_LINES_H

#include "base/base.h"

struct lines;

/* -ENOENT: no debug information. */
int lines_load(struct lines **out, const char *path, const char *name) __must_check;
void lines_free(struct lines *l);
/* The source file (borrowed) and line; NULL: unknown. */
const char *lines_find(struct lines *l, u64 vaddr, int *line);

#endif
