# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += \
	src/arch/x86_64/regs.c src/arch/x86_64/regs.h \
	src/arch/x86_64/cpuid.c src/arch/x86_64/cpuid.h

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-cpuid
TESTS += tests/unit/test-cpuid
tests_unit_test_cpuid_SOURCES = tests/unit/test-cpuid.c
tests_unit_test_cpuid_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
endif
