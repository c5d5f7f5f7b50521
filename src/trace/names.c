/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/format.h"

const char *const event_type_names[NR_EVENT_TYPES] = {
	[0] = "?",
	[EV_START] = "start",
	[EV_EXEC] = "exec",
	[EV_SYSCALL] = "syscall",
	[EV_ENTER] = "enter",
	[EV_LEAVE] = "leave",
	[EV_TRAP] = "trap",
	[EV_SIGNAL] = "signal",
	[EV_SCHED] = "sched",
	[EV_EXIT] = "exit",
};
