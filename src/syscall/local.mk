# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += \
	src/syscall/syscall.h src/syscall/table.def src/syscall/table.c \
	src/syscall/copyout.c src/syscall/special.c

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-syscall
TESTS += tests/unit/test-syscall
tests_unit_test_syscall_SOURCES = tests/unit/test-syscall.c
tests_unit_test_syscall_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
endif
