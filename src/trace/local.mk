# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += \
	src/trace/codec.c src/trace/frame.c src/trace/codec.h \
	src/trace/dir.c src/trace/dir-list.c \
	src/trace/files.c src/trace/files.h \
	src/trace/format.h \
	src/trace/maps.c \
	src/trace/names.c \
	src/trace/reader.c \
	src/trace/stream.h src/trace/stream-read.c src/trace/stream-write.c \
	src/trace/text.c \
	src/trace/trace.h \
	src/trace/writer.c

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-trace
TESTS += tests/unit/test-trace
tests_unit_test_trace_SOURCES = tests/unit/test-trace.c
tests_unit_test_trace_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-maps
TESTS += tests/unit/test-maps
tests_unit_test_maps_SOURCES = tests/unit/test-maps.c
tests_unit_test_maps_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-files
TESTS += tests/unit/test-files
tests_unit_test_files_SOURCES = tests/unit/test-files.c
tests_unit_test_files_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-survival
TESTS += tests/unit/test-survival
tests_unit_test_survival_SOURCES = tests/unit/test-survival.c
tests_unit_test_survival_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
endif
