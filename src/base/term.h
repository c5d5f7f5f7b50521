/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * term.h - what verbs print for people: styles, tables, a progress line.
 *
 * Colours and the progress line appear on a terminal only; NO_COLOR and
 * TERM=dumb take the colours away. Tables are plain text that greps and cuts
 * well: at least two blanks between columns, none at the end of a line.
 */
#ifndef PLAYHEAD_TERM_H
#define PLAYHEAD_TERM_H

#include <stdio.h>

#include "base/base.h"

enum term_style { TERM_BOLD, TERM_DIM, TERM_RED, TERM_GREEN, TERM_YELLOW, NR_TERM_STYLES };

bool term_has_colour(FILE *f);
/* Escape sequences, "" where @f has no colours. term_off ends any style. */
const char *term_on(FILE *f, enum term_style style);
const char *term_off(FILE *f);
/* Columns of the terminal at @f; 0 if it is none (then nothing is cut). */
unsigned term_width(FILE *f);
/* @s in printable form: control characters become '?'. Returns @out. */
char *term_clean(const char *s, char *out, size_t n);

/* ---- tables ---- */

enum term_align { TERM_LEFT, TERM_RIGHT };

struct term_table;

int term_table_new(struct term_table **out) __must_check;
void term_table_free(struct term_table *t);
/* All columns come before the first row. @title is borrowed. */
void term_table_column(struct term_table *t, const char *title, enum term_align align);
/* A row, cell by cell in column order; missing ones are empty. */
void term_table_row(struct term_table *t);
void term_table_cell(struct term_table *t, const char *fmt, ...) __printf_like(2, 3);
/* Colours the row that is being filled. */
void term_table_style(struct term_table *t, enum term_style style);
/* Print titles and rows, each line led by @lead ("" or "# "; titles only).
 * 0, or -ENOMEM if any call before ran out of memory. */
int term_table_print(struct term_table *t, FILE *f, const char *lead) __must_check;

/* ---- progress ---- */

struct term_progress {
	const char *what; /* "verifying" */
	u64 total;
	/* private */
	u64 next_ns;
	bool shown;
};

/* On stderr, at most ten times a second, only if stderr is a terminal. */
void term_progress_show(struct term_progress *p, u64 done);
/* Wipes the line; call before anything else is printed. */
void term_progress_end(struct term_progress *p);

#endif
