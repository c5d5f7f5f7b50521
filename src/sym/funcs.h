/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * funcs.h - named address ranges: collected in any order from several
 * tables, then made searchable. Knows nothing of ELF.
 */
#ifndef PLAYHEAD_SYM_FUNCS_H
#define PLAYHEAD_SYM_FUNCS_H

#include "base/buf.h"

struct func {
	u64 start, end; /* [start, end) */
	u32 name;	/* offset in funcs.names */
	u8 rank;	/* of several at one start, the lowest wins */
	bool sized;	/* false: end is only where the section ends */
};

struct funcs {
	struct func *v;
	size_t n, cap;
	struct wbuf names;
};

void funcs_fini(struct funcs *f);
/* @suffix is appended to @name ("@plt"); ranges that make no sense are left out. */
int funcs_add(struct funcs *f, const struct func *fn, const char *name,
	      const char *suffix) __must_check;
/* After the last funcs_add(). */
void funcs_sort(struct funcs *f);
const struct func *funcs_find(const struct funcs *f, u64 addr);

static inline const char *funcs_name(const struct funcs *f, const struct func *fn)
{
	return (const char *)f->names.data + fn->name;
}

#endif
