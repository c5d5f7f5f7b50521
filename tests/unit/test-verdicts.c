/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "sample/verdicts.h"

static char dir[64], file[80];

static void what_was_saved_is_loaded(void **state)
{
	struct verdicts v = {0}, w;

	assert_int_equal(verdicts_add(&v, 3, 1), 0);
	assert_int_equal(verdicts_add(&v, 4, 0), 0);
	assert_int_equal(verdicts_add(&v, 1, 7), 0);
	assert_int_equal(verdicts_add(&v, 2, 1), 0);
	assert_int_equal(verdicts_save(&v, dir), 0);
	verdicts_fini(&v);
	assert_int_equal(verdicts_load(&w, dir, 4), 0);
	assert_int_equal(w.samples, 4);
	assert_int_equal(w.repeated, 1);
	assert_int_equal(w.lost, 1);
	assert_int_equal(verdicts_matches(&w, 1), 7);
	assert_int_equal(verdicts_matches(&w, 2), 1);
	assert_int_equal(verdicts_matches(&w, 3), 1);
	assert_int_equal(verdicts_matches(&w, 4), 0);
	verdicts_fini(&w);
}

/* The recording has grown since, or the file was cut or tampered with. */
static void what_does_not_fit_counts_for_nothing(void **state)
{
	static const char *const texts[] = {
		"",
		"4\n",
		"5\nend\n",
		"x\nend\n",
		"4\n1 2\n",
		"4\n5 2\nend",
		"4\n2 3\n1 3\nend\n",
		"4\n1 1\nend\n",
		"4\n0 2\nend",
		"4\n1 2\n3\nend\n",
		"-4\nend\n",
		"4\n1 2 x\nend\n",
	};
	struct verdicts w;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		FILE *f = fopen(file, "w");

		assert_non_null(f);
		fputs(texts[i], f);
		fclose(f);
		assert_int_equal(verdicts_load(&w, dir, 4), -ENOENT);
		assert_int_equal(w.samples, 0);
		assert_null(w.v);
	}
	unlink(file);
	assert_int_equal(verdicts_load(&w, dir, 4), -ENOENT);
	assert_int_equal(verdicts_load(&w, "/nonexistent", 4), -ENOENT);
	assert_int_equal(verdicts_load(&w, dir, 0), -ENOENT);
}

static void a_folder_that_cannot_be_written_is_reported(void **state)
{
	struct verdicts v = {0};

	assert_int_equal(verdicts_save(&v, "/nonexistent"), -ENOENT);
}

static int setup(void **state)
{
	strcpy(dir, "/tmp/test-verdicts-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/verified", dir);
	return 0;
}

static int teardown(void **state)
{
	unlink(file);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_saved_is_loaded),
		cmocka_unit_test(what_does_not_fit_counts_for_nothing),
		cmocka_unit_test(a_folder_that_cannot_be_written_is_reported),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
