# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += \
	src/syscall/syscall.h src/syscall/table.def src/syscall/table.c \
	src/syscall/copyout.c src/syscall/special.c
