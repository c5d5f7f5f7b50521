# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += src/sym/sym.h
