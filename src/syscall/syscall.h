/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * syscall.h - what is known of each system call: its name, whether it may
 * block, whether it is refused, and which of the program's memory it writes.
 *
 * A plain call is one row of table.def. What a row cannot say is a copier
 * function here (it depends on the arguments only) or a hook of the recorder
 * (it changes the recorder's own picture: maps, threads, signals).
 */
#ifndef PLAYHEAD_SYSCALL_H
#define PLAYHEAD_SYSCALL_H

#include "base/base.h"
#include "arch/x86_64/regs.h"

#define SYSCALL_MAX_RULES 6

/* One call, seen at its end. */
struct syscall_view {
	pid_t tid;
	long nr;
	u64 arg[6]; /* as at entry */
	s64 ret;
	/* The value before the call of each length that is passed by pointer
	 * (syscall_enter() stores it), by argument. */
	u64 len_before[6];
};

/* Where the engine reports. Ranges may be unreadable or empty. */
struct syscall_sink {
	/* The call may have written [addr, addr + len). */
	int (*mem)(void *ctx, u64 addr, u64 len);
	/* The call wrote [addr, addr + len) of the program's memory to @fd. */
	int (*output)(void *ctx, int fd, u64 addr, u64 len);
	void *ctx;
};

typedef int (*syscall_copier)(const struct syscall_view *v, const struct syscall_sink *s);

enum syscall_rule_kind {
	RULE_NONE,
	RULE_OUT,      /* size bytes at arg */
	RULE_RET,      /* ret * size bytes at arg */
	RULE_LEN,      /* arg2 * size bytes at arg */
	RULE_RET_PLUS, /* ret + size bytes at arg */
	RULE_SOCK,     /* socklen_t at *arg2 bounds what is at arg */
	RULE_IOV,      /* ret bytes over the iovecs at arg, arg2 of them */
	RULE_MSG,      /* a received msghdr at arg, ret bytes */
	RULE_MMSG,     /* ret received mmsghdrs at arg */
	RULE_MMSG_LEN, /* ret sent mmsghdrs at arg: only their msg_len */
	RULE_FDSET,    /* an fd_set at arg for arg2 descriptors */
	RULE_PAGES,    /* a byte a page of the length arg2 at arg */
	RULE_WRITE,    /* output: ret bytes at arg, to the descriptor arg2 */
	RULE_WRITE_IOV,
	RULE_WRITE_MSG,
	RULE_CALL, /* copy */
};

struct syscall_rule {
	u8 kind, arg, arg2;
	u16 size;
	syscall_copier copy;
};

enum syscall_flags {
	SC_BLOCKS = 1,	 /* may sleep for long */
	SC_DENY = 2,	 /* not run: `err` is its result */
	SC_REDIRECT = 4, /* moves data between descriptors without the program's
			    memory: refused towards the recorder's own output */
};

struct syscall_info {
	const char *name; /* NULL: not in the table */
	u8 flags;
	s32 err;
	struct syscall_rule rules[SYSCALL_MAX_RULES];
};

/* NULL if the table does not know @nr. */
const struct syscall_info *syscall_lookup(long nr);

/* Can this very call sleep for long? (ioctl and fcntl depend on the command.) */
bool syscall_may_block(const struct syscall_info *i, const u64 arg[6]);
/* 0, or the -errno that this call is refused with whatever the system says. */
int syscall_refused(const struct syscall_info *i, long nr, const u64 arg[6]);

/* At entry: note what must be known from before the call. */
void syscall_enter(const struct syscall_info *i, struct syscall_view *v);
/* At its end: report all it wrote. */
int syscall_leave(const struct syscall_info *i, const struct syscall_view *v,
		  const struct syscall_sink *s) __must_check;

/* Copiers of the calls whose arguments choose (special.c). */
int copy_ioctl(const struct syscall_view *v, const struct syscall_sink *s);
int copy_fcntl(const struct syscall_view *v, const struct syscall_sink *s);
int copy_prctl(const struct syscall_view *v, const struct syscall_sink *s);
int copy_arch_prctl(const struct syscall_view *v, const struct syscall_sink *s);
int copy_futex(const struct syscall_view *v, const struct syscall_sink *s);
int copy_semctl(const struct syscall_view *v, const struct syscall_sink *s);
int copy_getgroups(const struct syscall_view *v, const struct syscall_sink *s);
int copy_name_to_handle(const struct syscall_view *v, const struct syscall_sink *s);
bool ioctl_refused(u64 cmd);

#endif
