# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += \
	src/sym/elf-file.c src/sym/elf-file.h \
	src/sym/funcs.c src/sym/funcs.h \
	src/sym/lines.c src/sym/lines.h \
	src/sym/object.c src/sym/object.h \
	src/sym/sym.c src/sym/sym.h \
	src/sym/tables.c src/sym/tables.h \
	src/sym/walk.c

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-sym
TESTS += tests/unit/test-sym
tests_unit_test_sym_SOURCES = tests/unit/test-sym.c
# It looks for its own lines.
tests_unit_test_sym_CFLAGS = $(AM_CFLAGS) -g
tests_unit_test_sym_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
endif
