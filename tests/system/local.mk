# SPDX-License-Identifier: GPL-3.0-or-later
# matrix.py records, replays and verifies what matrix.txt lists.
TESTS += tests/system/self.tap tests/system/targets.tap tests/system/programs.tap \
	tests/system/bad-input.tap
EXTRA_DIST += tests/system/self.tap tests/system/targets.tap tests/system/programs.tap \
	tests/system/bad-input.tap \
	tests/system/matrix.txt tests/system/matrix.py tests/system/inputs.py \
	tests/system/harness.py
TESTS += tests/system/traces.tap tests/system/listings.tap
EXTRA_DIST += tests/system/traces.tap tests/system/listings.tap
if HAVE_CMOCKA
check_PROGRAMS += tests/system/sampler-print
TESTS += tests/system/sampler-print
tests_system_sampler_print_SOURCES = tests/system/sampler-print.c
tests_system_sampler_print_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
endif
