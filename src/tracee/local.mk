# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += \
	src/tracee/tracee.c src/tracee/tracee.h
