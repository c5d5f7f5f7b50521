# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += \
	src/point/point.h src/point/point-internal.h \
	src/point/point.c src/point/print.c
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-point
TESTS += tests/unit/test-point
tests_unit_test_point_SOURCES = tests/unit/test-point.c
tests_unit_test_point_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
endif
