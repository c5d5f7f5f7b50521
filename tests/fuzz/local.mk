# SPDX-License-Identifier: GPL-3.0-or-later
check_PROGRAMS += tests/fuzz/fuzz-trace
tests_fuzz_fuzz_trace_SOURCES = tests/fuzz/fuzz-trace.c
tests_fuzz_fuzz_trace_LDADD = $(PLAYHEAD_LIBS)
dist_check_SCRIPTS += tests/fuzz/run-trace.sh
TESTS += tests/fuzz/run-trace.sh
EXTRA_DIST += tests/fuzz/corpus-trace
