/* SPDX-License-Identifier: GPL-3.0-or-later */
/* signals.h - gdb numbers signals in its own way. */
#ifndef GDBSTUB_SIGNALS_H
#define GDBSTUB_SIGNALS_H

int signal_to_gdb(int sig);
int signal_from_gdb(int sig); /* 0: Linux has none */

#endif
