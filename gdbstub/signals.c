/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <signal.h>

#include "base/base.h"
#include "gdbstub/signals.h"

/* gdb's numbers (include/gdb/signals.def) by Linux's. */
static const u8 to_gdb[] = {
	[SIGHUP] = 1,	[SIGINT] = 2,	 [SIGQUIT] = 3,	 [SIGILL] = 4,	 [SIGTRAP] = 5,
	[SIGABRT] = 6,	[SIGFPE] = 8,	 [SIGKILL] = 9,	 [SIGBUS] = 10,	 [SIGSEGV] = 11,
	[SIGSYS] = 12,	[SIGPIPE] = 13,	 [SIGALRM] = 14, [SIGTERM] = 15, [SIGURG] = 16,
	[SIGSTOP] = 17, [SIGTSTP] = 18,	 [SIGCONT] = 19, [SIGCHLD] = 20, [SIGTTIN] = 21,
	[SIGTTOU] = 22, [SIGIO] = 23,	 [SIGXCPU] = 24, [SIGXFSZ] = 25, [SIGVTALRM] = 26,
	[SIGPROF] = 27, [SIGWINCH] = 28, [SIGUSR1] = 30, [SIGUSR2] = 31, [SIGPWR] = 32,
};

#define GDB_SIGNAL_UNKNOWN 143

int signal_to_gdb(int sig)
{
	if (sig > 0 && sig < (int)ARRAY_SIZE(to_gdb) && to_gdb[sig])
		return to_gdb[sig];
	/* GDB_SIGNAL_REALTIME_33..63 are 45..75; 32 and 64 came later. */
	if (sig >= 33 && sig <= 63)
		return 45 + sig - 33;
	if (sig == 32)
		return 77;
	if (sig == 64)
		return 78;
	return GDB_SIGNAL_UNKNOWN;
}

int signal_from_gdb(int sig)
{
	for (int i = 1; i <= 64; i++)
		if (signal_to_gdb(i) == sig && sig != GDB_SIGNAL_UNKNOWN)
			return i;
	return 0;
}
