/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>

#include "stop/internal.h"

#ifndef PTRACE_SYSEMU_SINGLESTEP
#define PTRACE_SYSEMU_SINGLESTEP 32
#endif

static bool is_prefix(u8 b)
{
	return b == 0x66 || b == 0x67 || b == 0xf2 || b == 0xf3 || b == 0x2e || b == 0x36 ||
	       b == 0x3e || b == 0x26 || b == 0x64 || b == 0x65 || b == 0xf0;
}

/* The first byte after prefixes and REX, or 0. */
static u8 opcode_of(const u8 *b, size_t n, bool *rep)
{
	size_t i = 0;

	*rep = false;
	for (; i < n && is_prefix(b[i]); i++)
		*rep |= b[i] == 0xf2 || b[i] == 0xf3;
	if (i < n && (b[i] & 0xf0) == 0x40)
		i++;
	return i < n ? b[i] : 0;
}

static bool is_string_op(u8 op)
{
	return (op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf) ||
	       (op >= 0x6c && op <= 0x6f);
}

/* The kernel hides the trap flag of a single-step from us, but not from a
 * pushf that is stepped. */
static int fix_pushf(struct stops *s)
{
	u64 sp = s->now.r[X86_RSP];
	u8 b;
	int err = tracee_read(s->tid, sp + 1, &b, 1);

	if (err || !(b & 1))
		return err;
	b &= ~1;
	return tracee_write(s->tid, sp + 1, &b, 1);
}

int step_once(struct stops *s, struct tracee_stop *st)
{
	u64 ip = s->now.r[X86_RIP];
	u8 code[15], op;
	size_t n = tracee_read_some(s->tid, ip, code, sizeof(code));
	bool rep, stepped;
	int err, err2;

	patch_hide(s, ip, code, n);
	op = opcode_of(code, n, &rep);
	err = patch_lift(s, ip, sizeof(code));
	if (!err)
		err = now_store(s);
	if (!err)
		err = wait_resume(s, PTRACE_SYSEMU_SINGLESTEP, st);
	if (s->dead)
		return err;
	err2 = patch_lower(s);
	if (!err)
		err = err2;
	if (!err)
		err = now_load(s);
	if (err)
		return err;
	stepped = st->kind == TRACEE_SIGNAL && st->sig == SIGTRAP;
	if (stepped && op == 0x9c)
		err = fix_pushf(s);
	/* One iteration of a rep is still the same arrival. */
	if (stepped && !(rep && is_string_op(op) && s->now.r[X86_RIP] == ip))
		eval_moved(s);
	return err;
}
