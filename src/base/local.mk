# SPDX-License-Identifier: GPL-3.0-or-later
libphbase_a_SOURCES += \
	src/base/base.h \
	src/base/buf.c src/base/buf.h \
	src/base/json.c src/base/json.h \
	src/base/log.c src/base/log.h \
	src/base/term.c src/base/term.h

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-base
TESTS += tests/unit/test-base
tests_unit_test_base_SOURCES = tests/unit/test-base.c
tests_unit_test_base_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-term
TESTS += tests/unit/test-term
tests_unit_test_term_SOURCES = tests/unit/test-term.c
tests_unit_test_term_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
endif
