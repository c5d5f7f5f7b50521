/* SPDX-License-Identifier: MIT OR GPL-2.0-or-later */
/*
 * print.h - the fingerprint of the memory that registers reach: its shape
 * and the rules that bpf/sample.bpf.c (in the kernel, while recording) and
 * src/point/print.c (in the supervisor, in replay) must follow to the bit.
 *
 * Needs u8/u32/u64 of its includer (base/base.h or the BPF side's own).
 */
#ifndef PLAYHEAD_PRINT_H
#define PLAYHEAD_PRINT_H

/* (a) the stack from rsp upward, page by page: the first piece ends at the
 * next page boundary, so up to PRINT_STACK_PIECES pieces. A piece that cannot
 * be read is not valid, and the pieces after it are not looked at. */
#define PRINT_STACK_BYTES  16384
#define PRINT_STACK_PIECES 5
/* (b) 64 bytes at each general register but rsp that is a user address, in
 * the order of enum reg: rax rbx rcx rdx rsi rdi rbp r8..r15. The window
 * begins at the word that the register points into. */
#define PRINT_WINDOW  64
#define PRINT_WINDOWS 15
/* (c) 64 bytes at each of the 8 words of each valid window of (b) that is a
 * user address, beginning as in (b). */
#define PRINT_WORDS (PRINT_WINDOW / 8)
#define PRINT_INNER (PRINT_WINDOWS * PRINT_WORDS)
/* (d) 64 bytes at each of the first words of the stack (slots: saved registers
 * and locals of the innermost functions) that is a user address, and after
 * each of these 64 bytes at each of its words that is one. While recording a
 * slot is left out that shows the window of a register or of the slot before
 * it, and all is over after PRINT_SLOT_READS tries to read. */
#define PRINT_SLOTS	 32
#define PRINT_SLOT_READS 128
#define PRINT_SLOT_FAULT 16

/* A word can be an address if it lies in [PRINT_LOW, PRINT_HIGH), outside
 * the agent's area [PRINT_AGENT, PRINT_AGENT + PRINT_AGENT_SIZE) and outside
 * the PRINT_STACK_BYTES bytes below rsp - PRINT_RED_ZONE. */
#define PRINT_LOW	 0x10000UL
#define PRINT_HIGH	 0x7ffffffff000UL
#define PRINT_AGENT	 0x70000000UL
#define PRINT_AGENT_SIZE 0x10000UL
#define PRINT_RED_ZONE	 128

/*
 * valid[0]: bits 0..4 stack pieces, bits 8..22 windows of (b);
 * valid[1], valid[2]: inner windows 0..63, 64..119 (window * 8 + word);
 * valid[3]: bits 0..31 slots; valid[4] to valid[7]: what a slot's window points
 * to (slot * 8 + word).
 * A hash covers its valid pieces in order and nothing else; with no valid
 * piece it is 0, so that a zeroed print agrees with any memory.
 */
#define PRINT_VALID 8

struct print {
	u64 stack, windows, inner, slots;
	u64 valid[PRINT_VALID];
};

#define PRINT_VALID_STACK(i)  (1UL << (i))
#define PRINT_VALID_STACKS    ((1UL << PRINT_STACK_PIECES) - 1)
#define PRINT_VALID_WINDOW(i) (1UL << (8 + (i)))
#define PRINT_VALID_WINDOWS   (((1UL << PRINT_WINDOWS) - 1) << 8)

#endif
