/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/term.h"

static const char *const style_codes[NR_TERM_STYLES] = {
	[TERM_BOLD] = "\033[1m",   [TERM_DIM] = "\033[2m",     [TERM_RED] = "\033[31m",
	[TERM_GREEN] = "\033[32m", [TERM_YELLOW] = "\033[33m",
};

bool term_has_colour(FILE *f)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (no && *no)
		return false;
	if (!term || !*term || !strcmp(term, "dumb"))
		return false;
	return isatty(fileno(f));
}

const char *term_on(FILE *f, enum term_style style)
{
	return term_has_colour(f) ? style_codes[style] : "";
}

const char *term_off(FILE *f)
{
	return term_has_colour(f) ? "\033[0m" : "";
}

unsigned term_width(FILE *f)
{
	struct winsize ws;

	if (!isatty(fileno(f)) || ioctl(fileno(f), TIOCGWINSZ, &ws))
		return 0;
	return ws.ws_col;
}

char *term_clean(const char *s, char *out, size_t n)
{
	size_t i;

	for (i = 0; i + 1 < n && s[i]; i++)
		out[i] = (u8)s[i] < 0x20 || s[i] == 0x7f ? '?' : s[i];
	if (n)
		out[i] = 0;
	return out;
}

/* ---- tables ---- */

#define MAX_COLUMNS 16
#define NO_STYLE    NR_TERM_STYLES

struct column {
	const char *title;
	enum term_align align;
	unsigned width;
};

struct row {
	enum term_style style;
	size_t cell[MAX_COLUMNS]; /* offset in text + 1; 0: empty */
};

struct term_table {
	struct column columns[MAX_COLUMNS];
	unsigned n_columns, at; /* at: next cell of the last row */
	struct row *rows;
	size_t n_rows, cap_rows;
	struct wbuf text;
	int err;
};

int term_table_new(struct term_table **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void term_table_free(struct term_table *t)
{
	if (!t)
		return;
	wbuf_free(&t->text);
	free(t->rows);
	free(t);
}

/* Columns that UTF-8 text takes, every character taken as one wide. */
static unsigned text_width(const char *s)
{
	unsigned n = 0;

	for (; *s; s++)
		n += ((u8)*s & 0xc0) != 0x80;
	return n;
}

void term_table_column(struct term_table *t, const char *title, enum term_align align)
{
	if (t->n_columns == MAX_COLUMNS)
		return;
	t->columns[t->n_columns++] = (struct column){title, align, text_width(title)};
}

void term_table_row(struct term_table *t)
{
	if (!t->err)
		t->err = array_reserve(&t->rows, &t->cap_rows, t->n_rows + 1,
				       sizeof(*t->rows));
	if (t->err)
		return;
	t->rows[t->n_rows++] = (struct row){.style = NO_STYLE};
	t->at = 0;
}

void term_table_cell(struct term_table *t, const char *fmt, ...)
{
	char buf[1024], clean[1024];
	va_list ap;

	if (t->err || !t->n_rows || t->at == t->n_columns)
		return;
	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	term_clean(buf, clean, sizeof(clean));
	if (*clean) {
		struct column *c = &t->columns[t->at];

		t->rows[t->n_rows - 1].cell[t->at] = t->text.len + 1;
		wbuf_bytes(&t->text, clean, strlen(clean) + 1);
		c->width = MAX(c->width, text_width(clean));
	}
	t->at++;
	t->err = t->text.err;
}

void term_table_style(struct term_table *t, enum term_style style)
{
	if (!t->err && t->n_rows)
		t->rows[t->n_rows - 1].style = style;
}

static void put_cells(const struct term_table *t, FILE *f, const char *const cells[])
{
	unsigned owed = 0; /* blanks before the next text, so that none end a line */

	for (unsigned i = 0; i < t->n_columns; i++) {
		const struct column *c = &t->columns[i];
		unsigned pad = c->width - text_width(cells[i]);

		if (i)
			owed += 2;
		if (c->align == TERM_RIGHT)
			owed += pad;
		if (*cells[i]) {
			fprintf(f, "%*s%s", (int)owed, "", cells[i]);
			owed = 0;
		}
		if (c->align == TERM_LEFT)
			owed += *cells[i] ? pad : c->width;
	}
}

int term_table_print(struct term_table *t, FILE *f, const char *lead)
{
	const char *cells[MAX_COLUMNS];

	if (t->err)
		return t->err;
	for (unsigned i = 0; i < t->n_columns; i++)
		cells[i] = t->columns[i].title;
	fprintf(f, "%s%s", term_on(f, TERM_BOLD), lead);
	put_cells(t, f, cells);
	fprintf(f, "%s\n", term_off(f));
	for (size_t r = 0; r < t->n_rows; r++) {
		const struct row *row = &t->rows[r];

		for (unsigned i = 0; i < t->n_columns; i++)
			cells[i] =
				row->cell[i] ? (char *)t->text.data + row->cell[i] - 1 : "";
		if (row->style != NO_STYLE)
			fputs(term_on(f, row->style), f);
		fprintf(f, "%*s", (int)strlen(lead), "");
		put_cells(t, f, cells);
		if (row->style != NO_STYLE)
			fputs(term_off(f), f);
		putc('\n', f);
	}
	return 0;
}

/* ---- progress ---- */

#define PROGRESS_NS (100 * NSEC_PER_MSEC)

void term_progress_show(struct term_progress *p, u64 done)
{
	u64 now = now_ns();

	if (now < p->next_ns)
		return;
	/* A fast job never shows a line: the first one is put off as well. */
	if (p->next_ns && isatty(STDERR_FILENO)) {
		if (p->total)
			fprintf(stderr, "\r%s: %3" PRIu64 " %%\033[K", p->what,
				MIN(done, p->total) * 100 / p->total);
		else
			fprintf(stderr, "\r%s: %" PRIu64 "\033[K", p->what, done);
		p->shown = true;
	}
	p->next_ns = now + PROGRESS_NS;
}

void term_progress_end(struct term_progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
