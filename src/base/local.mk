# SPDX-License-Identifier: GPL-3.0-or-later
libphbase_a_SOURCES += \
	src/base/base.h \
	src/base/buf.c src/base/buf.h \
	src/base/log.c src/base/log.h
