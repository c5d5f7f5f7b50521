# SPDX-License-Identifier: GPL-3.0-or-later
libgdbstub_a_SOURCES += gdbstub/stub.c
