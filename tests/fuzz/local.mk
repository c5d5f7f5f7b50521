# SPDX-License-Identifier: GPL-3.0-or-later
check_PROGRAMS += tests/fuzz/fuzz-trace tests/fuzz/fuzz-reader
tests_fuzz_fuzz_trace_SOURCES = tests/fuzz/fuzz-trace.c tests/fuzz/drive.h
tests_fuzz_fuzz_trace_LDADD = $(PLAYHEAD_LIBS)
tests_fuzz_fuzz_reader_SOURCES = tests/fuzz/fuzz-reader.c tests/fuzz/drive.h
tests_fuzz_fuzz_reader_LDADD = $(PLAYHEAD_LIBS)
dist_check_SCRIPTS += tests/fuzz/run-trace.sh
TESTS += tests/fuzz/run-trace.sh
EXTRA_DIST += tests/fuzz/corpus-trace tests/fuzz/corpus-reader
check_PROGRAMS += tests/fuzz/fuzz-gdb
tests_fuzz_fuzz_gdb_SOURCES = tests/fuzz/fuzz-gdb.c tests/unit/fake-target.h
tests_fuzz_fuzz_gdb_LDADD = $(PLAYHEAD_LIBS)
dist_check_SCRIPTS += tests/fuzz/run-gdb.sh
TESTS += tests/fuzz/run-gdb.sh
EXTRA_DIST += tests/fuzz/corpus-gdb
