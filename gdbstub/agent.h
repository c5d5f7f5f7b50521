/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * agent.h - gdb's agent expressions: the conditions of breakpoints as stack
 * bytecode (gdb manual, appendix "The GDB Agent Expression Mechanism").
 */
#ifndef GDBSTUB_AGENT_H
#define GDBSTUB_AGENT_H

#include "base/base.h"

struct agent_env {
	void *ctx;
	/* Register by gdb's number. */
	int (*reg)(void *ctx, unsigned n, u64 *value);
	int (*read)(void *ctx, u64 addr, void *buf, size_t n);
};

/*
 * Evaluate @code. 0: *@value is the top of the stack at `end`.
 * -EINVAL: bad code, stack over- or underflow, a jump out of it;
 * -ELOOP: too many steps; -EDOM: division by zero; -EFAULT and the like from
 * the environment.
 */
int agent_eval(const u8 *code, size_t n, const struct agent_env *env,
	       u64 *value) __must_check;

#endif
