/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gdb-names.h - the function that each sample was taken in. */
#ifndef PLAYHEAD_GDB_NAMES_H
#define PLAYHEAD_GDB_NAMES_H

#include "base/base.h"

struct gdb_host;
struct names;

/* Name all samples of the recording, once; later calls do nothing. */
int names_load(struct gdb_host *h) __must_check;
void names_free(struct names *n);
/* NULL: not known, or not loaded yet. */
const char *names_sample(const struct names *n, u64 number);
/* How many places match it, as the last verify found: 1 if nobody knows. */
u64 names_matches(const struct names *n, u64 number);

#endif
