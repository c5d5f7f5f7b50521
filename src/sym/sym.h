/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sym.h - names and source lines of code addresses of a recorded program,
 * from the files kept in the trace (and /usr/lib/debug, debug links, build
 * ids on this machine), through libelf and libdw.
 */
#ifndef PLAYHEAD_SYM_H
#define PLAYHEAD_SYM_H

#include "trace/trace.h"

struct sym;

struct sym_name {
	const char *func; /* as in the file (C++ mangled); NULL: unknown. Borrowed. */
	u64 offset;	  /* from the function's start */
	const char *file; /* the object as the program saw it, "[heap]", "[anon]", "?" */
	u64 rva;	  /* address within the object (ELF vaddr) */
};

struct sym_line {
	const char *source; /* NULL: unknown */
	int line;
};

int sym_new(struct sym **out, struct trace_reader *r) __must_check;
void sym_free(struct sym *s);
/*
 * Name @addr in an address space that looks like @maps. Always fills *@n; its
 * strings live as long as @s and @maps.
 */
void sym_name(struct sym *s, const struct maps *maps, u64 addr, struct sym_name *n);
void sym_line(struct sym *s, const struct maps *maps, u64 addr, struct sym_line *l);

/*
 * The place a sample counts for, as perf has it: true if that is its innermost
 * kernel frame (then func may be NULL, file is "[kernel]" and rva the kernel's
 * address), false if it was in user code, then *@n is as from sym_name().
 */
bool sym_sample_name(struct sym *s, const struct sample *sample, const struct maps *maps,
		     struct sym_name *n);

/*
 * Walk all samples of a trace in order, with the address space that each was
 * taken in (one pass over the events; no replay).
 */
typedef int (*sym_sample_fn)(void *ctx, const struct sample *s, const struct maps *maps);
int sym_each_sample(struct trace_reader *r, sym_sample_fn fn, void *ctx) __must_check;

#endif
