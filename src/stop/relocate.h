/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * relocate.h - displaced code: decode the window of instructions that a jump
 * covers, and write them so that they do the same elsewhere. Pure: bytes in,
 * bytes out.
 */
#ifndef PLAYHEAD_STOP_RELOCATE_H
#define PLAYHEAD_STOP_RELOCATE_H

#include "base/buf.h"

#define JUMP_BYTES   5
#define WINDOW_COVER 14 /* bytes that jumps may cover */
#define WINDOW_INSNS WINDOW_COVER
#define WINDOW_BYTES (WINDOW_COVER + 15)

struct code_insn {
	u8 at, len;  /* within the window */
	u8 kind;     /* private to relocate.c */
	u8 modrm;    /* offset of the ModRM byte, 0: none */
	u8 disp;     /* offset of a RIP-relative displacement, 0: none */
	u8 cond;     /* of a direct branch: its last opcode byte */
	u8 rsp_disp; /* offset of a displacement from rsp in a call, 0: none */
	bool addr32; /* of a jump by rcx: it is ecx */
	bool loops;  /* its copy has counted rcx down after its first instruction */
	bool hot;    /* has a jump of its own */
	u64 target;  /* of a direct branch */
};

struct code_window {
	u64 addr;
	u8 len;	  /* cover or more, ends with an instruction */
	u8 cover; /* bytes that jumps stand on */
	u8 n;
	bool open; /* control can leave at the end */
	u8 code[WINDOW_BYTES];
	struct code_insn insns[WINDOW_INSNS];
};

/* Is @addr jumped to so often that it should have a jump of its own? */
typedef bool (*code_hot_fn)(void *ctx, u64 addr);

/*
 * Decode the instructions at @addr until they fill a jump, and one more for
 * each hot one among them. @n bytes of code are there; @hot may be NULL.
 * -ENOTSUP: one of them cannot be displaced.
 */
int code_decode(struct code_window *w, u64 addr, const u8 *code, size_t n, code_hot_fn hot,
		void *ctx) __must_check;

/* The index of the instruction at @addr, or -1. */
int code_index(const struct code_window *w, u64 addr);

/*
 * What may the covered byte at offset @at be? COVER_FREE: anything.
 * COVER_TRAP: the first byte of an instruction that somebody may jump to: one
 * of pun_bytes, which trap in user mode. COVER_JUMP: a hot one: 0xe9.
 */
enum cover { COVER_FREE, COVER_TRAP, COVER_JUMP };

enum cover code_cover(const struct code_window *w, unsigned at);
extern const u8 pun_bytes[];
extern const unsigned n_pun_bytes;

/*
 * Write instruction @k to the end of @out, which will stand at @at. A branch
 * to an instruction of this window goes to @entry[index] if that is not 0.
 * *@pushed: offset from the start of the copy after which a displaced call has
 * moved rsp already (0: none). -ERANGE: an operand is out of reach from there.
 */
int code_emit(const struct code_window *w, unsigned k, struct wbuf *out, u64 at,
	      const u64 entry[WINDOW_INSNS], u8 *pushed) __must_check;

/* jmp rel32 at the end of @out, which stands at @at. -ERANGE. */
int emit_jump(struct wbuf *out, u64 at, u64 to) __must_check;

#endif
