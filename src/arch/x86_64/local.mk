# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += \
	src/arch/x86_64/regs.c src/arch/x86_64/regs.h \
	src/arch/x86_64/cpuid.c src/arch/x86_64/cpuid.h
