/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>

#include "base/json.h"

/*
 * Length of the well-formed UTF-8 sequence at @s (2 to 4 bytes, the shortest
 * form, no surrogates), or 0. A terminator ends every sequence early.
 */
static unsigned utf8_len(const u8 *s)
{
	unsigned n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	u32 cp;

	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	cp = s[0] & (0x7f >> n);
	for (unsigned i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (s[i] & 0x3f);
	}
	if ((n == 3 && cp < 0x800) || (n == 4 && (cp < 0x10000 || cp > 0x10ffff)) ||
	    (cp >= 0xd800 && cp <= 0xdfff))
		return 0;
	return n;
}

static void put_string(FILE *f, const char *v)
{
	const u8 *s = (const u8 *)v;

	putc('"', f);
	while (*s) {
		unsigned n = 1;

		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if (*s == '\n')
			fputs("\\n", f);
		else if (*s == '\t')
			fputs("\\t", f);
		else if (*s < 0x20 || *s == 0x7f)
			fprintf(f, "\\u%04x", *s);
		else if (*s < 0x80)
			putc(*s, f);
		else if ((n = utf8_len(s)))
			fwrite(s, 1, n, f);
		else
			fputs("\\ufffd", f);
		s += n ? n : 1;
	}
	putc('"', f);
}

/* What stands before a value: a comma, and its key. */
static void lead(struct json *j, const char *key)
{
	if (j->depth) {
		if (j->comma[j->depth - 1])
			fputs(", ", j->f);
		j->comma[j->depth - 1] = true;
	}
	if (key) {
		put_string(j->f, key);
		fputs(": ", j->f);
	}
}

static void open_level(struct json *j, const char *key, bool array)
{
	lead(j, key);
	if (j->depth == JSON_MAX_DEPTH)
		return;
	j->comma[j->depth] = false;
	j->array[j->depth++] = array;
	putc(array ? '[' : '{', j->f);
}

void json_object(struct json *j, const char *key)
{
	open_level(j, key, false);
}

void json_array(struct json *j, const char *key)
{
	open_level(j, key, true);
}

void json_end(struct json *j)
{
	if (!j->depth)
		return;
	j->depth--;
	putc(j->array[j->depth] ? ']' : '}', j->f);
	if (!j->depth)
		putc('\n', j->f);
}

void json_str(struct json *j, const char *key, const char *v)
{
	lead(j, key);
	if (v)
		put_string(j->f, v);
	else
		fputs("null", j->f);
}

void json_u64(struct json *j, const char *key, u64 v)
{
	lead(j, key);
	fprintf(j->f, "%" PRIu64, v);
}

void json_s64(struct json *j, const char *key, s64 v)
{
	lead(j, key);
	fprintf(j->f, "%" PRId64, v);
}

void json_hex(struct json *j, const char *key, u64 v)
{
	lead(j, key);
	fprintf(j->f, "\"0x%" PRIx64 "\"", v);
}

void json_double(struct json *j, const char *key, double v, int digits)
{
	lead(j, key);
	if (isfinite(v))
		fprintf(j->f, "%.*f", digits, v);
	else
		fputs("null", j->f);
}

void json_bool(struct json *j, const char *key, bool v)
{
	lead(j, key);
	fputs(v ? "true" : "false", j->f);
}
