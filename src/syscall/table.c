/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "syscall/syscall.h"

#define B SC_BLOCKS
#define OUT(a, n)                                                                          \
	{                                                                                  \
		.kind = RULE_OUT, .arg = (a), .size = (n)                                  \
	}
#define RET(a)                                                                             \
	{                                                                                  \
		.kind = RULE_RET, .arg = (a), .size = 1                                    \
	}
#define RETN(a, n)                                                                         \
	{                                                                                  \
		.kind = RULE_RET, .arg = (a), .size = (n)                                  \
	}
#define RET_PLUS(a, n)                                                                     \
	{                                                                                  \
		.kind = RULE_RET_PLUS, .arg = (a), .size = (n)                             \
	}
#define LEN(a, l, n)                                                                       \
	{                                                                                  \
		.kind = RULE_LEN, .arg = (a), .arg2 = (l), .size = (n)                     \
	}
#define TWO(k, a, b)                                                                       \
	{                                                                                  \
		.kind = (k), .arg = (a), .arg2 = (b)                                       \
	}
#define SOCK(a, l)	TWO(RULE_SOCK, a, l)
#define IOV(a, n)	TWO(RULE_IOV, a, n)
#define FDSET(a, n)	TWO(RULE_FDSET, a, n)
#define PAGES(a, l)	TWO(RULE_PAGES, a, l)
#define WRITE(a, fd)	TWO(RULE_WRITE, a, fd)
#define WRITE_IOV(a, n) TWO(RULE_WRITE_IOV, a, n)
#define WRITE_MSG(a, f) TWO(RULE_WRITE_MSG, a, f)
#define MSG(a)		TWO(RULE_MSG, a, 0)
#define MMSG(a)		TWO(RULE_MMSG, a, 0)
#define MMSG_LEN(a)	TWO(RULE_MMSG_LEN, a, 0)
#define COPY(fn)                                                                           \
	{                                                                                  \
		.kind = RULE_CALL, .copy = (fn)                                            \
	}

#define CALL(nr, id, f, ...) [nr] = {.name = #id, .flags = (f), .rules = {__VA_ARGS__}},
#define DENY(nr, id, e)	     [nr] = {.name = #id, .flags = SC_DENY, .err = -(e)},

static const struct syscall_info table[] = {
#include "syscall/table.def"
};

const struct syscall_info *syscall_lookup(long nr)
{
	if (nr < 0 || nr >= (long)ARRAY_SIZE(table) || !table[nr].name)
		return NULL;
	return &table[nr];
}

static bool fcntl_blocks(u64 cmd)
{
	return cmd == F_SETLKW || cmd == F_OFD_SETLKW;
}

static bool futex_blocks(u64 op)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAKE:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_WAKE_OP:
	case FUTEX_WAKE_BITSET:
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI:
		return false;
	default:
		return true;
	}
}

bool syscall_may_block(const struct syscall_info *i, const u64 arg[6])
{
	long nr = i - table;

	if (!(i->flags & SC_BLOCKS))
		return false;
	if (nr == SYS_fcntl)
		return fcntl_blocks(arg[1]);
	if (nr == SYS_futex)
		return futex_blocks(arg[1]);
	return true;
}

int syscall_refused(const struct syscall_info *i, long nr, const u64 arg[6])
{
	if (i->flags & SC_DENY)
		return i->err;
	if (nr == SYS_ioctl && ioctl_refused(arg[1]))
		return -ENOTTY;
	return 0;
}
