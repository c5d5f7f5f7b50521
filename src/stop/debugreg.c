/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The four debug registers: who has which, and loading them with
 * PTRACE_POKEUSER.
 */
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "stop/internal.h"

#define DR_OFFSET(i)	(offsetof(struct user, u_debugreg) + (i) * sizeof(long))
#define DR7_RW_SHIFT(i) (16 + 4 * (i))
#define DR7_ENABLE(i)	(1UL << (2 * (i)))
#define DR7_CLEAR(i)	(~(DR7_ENABLE(i) | 0xfUL << DR7_RW_SHIFT(i)))

/* SDM 18.2.4: the LEN field; 8 bytes is coded 2. */
static const u8 len_code[9] = {[1] = 0, [2] = 1, [4] = 3, [8] = 2};
static const u8 rw_code[] = {
	[WATCH_EXEC] = 0,
	[WATCH_WRITE] = 1,
	[WATCH_READWRITE] = 3,
};

static int poke(struct stops *s, int reg, u64 v)
{
	return ptrace(PTRACE_POKEUSER, s->tid, DR_OFFSET(reg), v) ? -errno : 0;
}

int debugreg_take(struct stops *s, int owner)
{
	for (int i = 0; i < 4; i++) {
		if (s->dr_owner[i] != DR_FREE)
			continue;
		s->dr_owner[i] = owner;
		s->dr7 &= DR7_CLEAR(i);
		return i;
	}
	return -ENOSPC;
}

int debugreg_alloc(struct stops *s, enum watch_kind kind, u64 addr, u32 len, int owner)
{
	int i = debugreg_take(s, owner);

	if (i < 0)
		return i;
	s->dr[i] = addr;
	s->dr7 |= DR7_ENABLE(i);
	s->dr7 |= (u64)(len_code[len] << 2 | rw_code[kind]) << DR7_RW_SHIFT(i);
	return i;
}

void debugreg_free(struct stops *s, int slot)
{
	s->dr_owner[slot] = DR_FREE;
	s->dr7 &= DR7_CLEAR(slot);
}

int debugreg_load(struct stops *s)
{
	int err = 0;

	/* The kernel checks each address against DR7 as it is written: all off
	 * first, then the addresses, then what they mean. */
	if (s->dr_set)
		err = poke(s, 7, 0);
	s->dr_set = false;
	if (!(s->dr7 & 0xff))
		return err;
	for (int i = 0; i < 4 && !err; i++)
		if (s->dr7 & DR7_ENABLE(i))
			err = poke(s, i, s->dr[i]);
	if (!err)
		err = poke(s, 6, 0);
	s->dr_set = true;
	if (!err)
		err = poke(s, 7, s->dr7);
	return err;
}

int debugreg_unload(struct stops *s)
{
	if (!s->dr_set)
		return 0;
	s->dr_set = false;
	return poke(s, 7, 0);
}

u32 debugreg_fired(struct stops *s)
{
	long v;

	if (!s->dr_set)
		return 0;
	errno = 0;
	v = ptrace(PTRACE_PEEKUSER, s->tid, DR_OFFSET(6), 0);
	if (errno || !(v & 0xf))
		return 0;
	/* The processor never clears DR6, nor does the kernel its copy. */
	if (poke(s, 6, 0))
		return 0;
	return v & 0xf;
}
