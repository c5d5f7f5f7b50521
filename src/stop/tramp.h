/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tramp.h - conditions looked at in the task itself, behind a jump.
 *
 * A window of instructions is displaced into a trampoline nearby. In front of
 * each displaced instruction that has conditions stand their checks:
 *
 *   entry:  mov %rax, save_rax; lahf; seto %al; mov %rax, save_flags
 *   check:  mov save_rax, %rax; cmp each register; jne end; words; flags;
 *           (hash memory, put back the registers, that are known now;)
 *           incq count; (pass == count?) int3
 *   end:    ... the next check ...
 *           mov save_flags, %rax; add $0x7f, %al; sahf; mov save_rax, %rax
 *   copy:   the instruction
 *
 * Only rax and the flags are touched and only the trampoline's own data page
 * is written, so the program's state can be told at every byte of it.
 */
#ifndef PLAYHEAD_STOP_TRAMP_H
#define PLAYHEAD_STOP_TRAMP_H

#include "stop/relocate.h"

#define TRAMP_CHECKS 20
/* Bytes of code for a window of @w instructions with @c checks, at most. */
#define TRAMP_BYTES(c, w)                                                                  \
	(512 +                                                                             \
	 (c) * (448 + TRAMP_FILTER_BYTES + 2 * TRAMP_HASH_BYTES + TRAMP_INNER_BYTES) +     \
	 (w)*96)
#define TRAMP_FILTER_REGS  8
#define TRAMP_FILTER_BYTES (TRAMP_FILTER_REGS * 5 + 32)
#define TRAMP_HASH_BYTES   1600
#define TRAMP_INNER_BYTES  4800

struct tramp_check {
	u8 insn;
	s8 cond;	     /* its number; -1: stop whenever control is here */
	u16 begin, inc, end; /* offsets: up to inc it has not been counted */
	/* Here registers hold other things: all were as the condition says. */
	u16 hash, hashed;
	u64 pushed; /* the count that the data page was given */
};

struct tramp_insn {
	bool checked;
	u16 rcx_used, rcx_back, slow;  /* of the filter: rcx is in save_rcx */
	u16 entry, has_rax, has_flags; /* rax is in save_rax, flags in save_flags */
	u16 copy, pushed, end;	       /* pushed: rsp is 8 lower from here, or 0 */
};

/* A hot instruction of the window jumps by way of a stub. */
#define TRAMP_STUBS 3

struct tramp_stub {
	u8 insn;
	u64 addr, map, map_len;
};

struct tramp {
	struct code_window w;
	u64 data, code; /* addresses in the task */
	u64 map, map_len;
	u32 code_len;
	u32 bounces;		/* jumps into the middle that trapped */
	u8 cover[WINDOW_COVER]; /* what stands on the window */
	u8 n_stubs;
	struct tramp_stub stubs[TRAMP_STUBS];
	u8 n_checks;
	struct tramp_check checks[TRAMP_CHECKS];
	struct tramp_insn insns[WINDOW_INSNS];
};

/* Of the data page. */
struct tramp_data {
	u64 save_rax, save_flags, save_rcx;
	struct tramp_values {
		u64 regs[16]; /* in the order of enum reg */
		u64 words[4];
		u64 count, pass;
	} checks[TRAMP_CHECKS];
};

#endif
