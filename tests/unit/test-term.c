/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/term.h"

struct out {
	char *text;
	size_t len;
	FILE *f;
};

static void out_open(struct out *o)
{
	o->f = open_memstream(&o->text, &o->len);
	assert_non_null(o->f);
}

static void out_is(struct out *o, const char *want)
{
	assert_int_equal(fclose(o->f), 0);
	assert_string_equal(o->text, want);
	free(o->text);
}

static void table_aligns_without_trailing_blanks(void **state)
{
	struct out o;
	struct term_table *t;

	out_open(&o);
	assert_int_equal(term_table_new(&t), 0);
	term_table_column(t, "N", TERM_RIGHT);
	term_table_column(t, "NAME", TERM_LEFT);
	term_table_column(t, "WHY", TERM_LEFT);
	term_table_row(t);
	term_table_cell(t, "%d", 7);
	term_table_cell(t, "a");
	term_table_cell(t, "since");
	term_table_row(t);
	term_table_cell(t, "%d", 1234);
	term_table_cell(t, "longer");
	term_table_row(t);
	term_table_cell(t, "1");
	term_table_cell(t, "%s", "");
	term_table_cell(t, "bell\a");
	assert_int_equal(term_table_print(t, o.f, "# "), 0);
	term_table_free(t);
	out_is(&o, "#    N  NAME    WHY\n"
		   "     7  a       since\n"
		   "  1234  longer\n"
		   "     1          bell?\n");
}

static void table_counts_characters_not_bytes(void **state)
{
	struct out o;
	struct term_table *t;

	out_open(&o);
	assert_int_equal(term_table_new(&t), 0);
	term_table_column(t, "A", TERM_LEFT);
	term_table_column(t, "B", TERM_LEFT);
	term_table_row(t);
	term_table_cell(t, "\xc3\xa9\xc3\xa9");
	term_table_cell(t, "x");
	term_table_row(t);
	term_table_cell(t, "ee");
	term_table_cell(t, "x");
	assert_int_equal(term_table_print(t, o.f, ""), 0);
	term_table_free(t);
	out_is(&o, "A   B\n\xc3\xa9\xc3\xa9  x\nee  x\n");
}

/* More cells or columns than there is room for are dropped, not written. */
static void table_survives_misuse(void **state)
{
	struct out o;
	struct term_table *t;

	out_open(&o);
	assert_int_equal(term_table_new(&t), 0);
	term_table_cell(t, "no row yet");
	for (int i = 0; i < 40; i++)
		term_table_column(t, "C", TERM_LEFT);
	term_table_row(t);
	for (int i = 0; i < 40; i++)
		term_table_cell(t, "%d", i);
	assert_int_equal(term_table_print(t, o.f, ""), 0);
	term_table_free(t);
	fclose(o.f);
	assert_null(strstr(o.text, "16"));
	assert_non_null(strstr(o.text, "15\n"));
	free(o.text);
}

static void no_colour_off_a_terminal(void **state)
{
	FILE *f = tmpfile();

	assert_non_null(f);
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	assert_false(term_has_colour(f));
	assert_string_equal(term_on(f, TERM_RED), "");
	assert_string_equal(term_off(f), "");
	assert_int_equal(term_width(f), 0);
	fclose(f);
}

static void json_nests(void **state)
{
	struct out o;
	struct json j;

	out_open(&o);
	j = json_to(o.f);
	json_object(&j, NULL);
	json_str(&j, "s", "a\"b\\c\n\x01");
	json_u64(&j, "u", UINT64_MAX);
	json_s64(&j, "i", INT64_MIN);
	json_array(&j, "list");
	json_u64(&j, NULL, 1);
	json_object(&j, NULL);
	json_end(&j);
	json_end(&j);
	json_double(&j, "d", 0.12345, 3);
	json_double(&j, "nan", NAN, 3);
	json_bool(&j, "b", false);
	json_hex(&j, "x", 0xfff);
	json_str(&j, "none", NULL);
	json_end(&j);
	out_is(&o, "{\"s\": \"a\\\"b\\\\c\\n\\u0001\", \"u\": 18446744073709551615, "
		   "\"i\": -9223372036854775808, \"list\": [1, {}], \"d\": 0.123, "
		   "\"nan\": null, \"b\": false, \"x\": \"0xfff\", \"none\": null}\n");
}

static void json_mends_what_is_not_utf8(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"\xc3\xa9",	     "\"\xc3\xa9\""			   },
		{"\xff",		 "\"\\ufffd\""		      },
		{"\xc0\xaf",	     "\"\\ufffd\\ufffd\""		 }, /* overlong */
		{"\xe2\x82",	     "\"\\ufffd\\ufffd\""		 }, /* cut short */
		{"\xed\xa0\x80",	 "\"\\ufffd\\ufffd\\ufffd\""	    }, /* surrogate */
		{"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""		   },
		{"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* too large */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct out o;
		struct json j;

		out_open(&o);
		j = json_to(o.f);
		json_str(&j, NULL, cases[i].in);
		out_is(&o, cases[i].out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_aligns_without_trailing_blanks),
		cmocka_unit_test(table_counts_characters_not_bytes),
		cmocka_unit_test(table_survives_misuse),
		cmocka_unit_test(no_colour_off_a_terminal),
		cmocka_unit_test(json_nests),
		cmocka_unit_test(json_mends_what_is_not_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
