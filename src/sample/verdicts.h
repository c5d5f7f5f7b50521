/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * verdicts.h - how many places of the replay match each sample, as the last
 * verify of a trace found; kept in the trace's folder for the listings.
 */
#ifndef PLAYHEAD_VERDICTS_H
#define PLAYHEAD_VERDICTS_H

#include "base/base.h"

struct verdict {
	u64 number, matches; /* matches 0: lost */
};

struct verdicts {
	u64 samples; /* 0: nothing was verified */
	u64 repeated, lost;
	/* Only of samples that are not exact; once loaded, by number. */
	struct verdict *v;
	size_t n, cap;
};

void verdicts_fini(struct verdicts *v);
/* In any order, each once; @matches 1: exact. */
int verdicts_add(struct verdicts *v, u64 number, u64 matches) __must_check;
/* Replaces what was kept for the trace at @dir. */
int verdicts_save(struct verdicts *v, const char *dir) __must_check;
/* -ENOENT: the trace was not verified, or not as it is now with @samples. */
int verdicts_load(struct verdicts *v, const char *dir, u64 samples) __must_check;
u64 verdicts_matches(const struct verdicts *v, u64 number);

#endif
