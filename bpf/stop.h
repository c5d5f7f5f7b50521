/* SPDX-License-Identifier: MIT OR GPL-2.0-or-later */
/*
 * stop.h - what src/stop/bpf.c and bpf/stop.bpf.c tell each other, in the
 * program's .bss: one slot a hardware breakpoint, and its conditions.
 *
 * Needs u32/u64 of its includer.
 */
#ifndef PLAYHEAD_BPF_STOP_H
#define PLAYHEAD_BPF_STOP_H

#define BPF_STOP_SLOTS 4
#define BPF_STOP_CONDS 8
#define BPF_STOP_WORDS 4
/* rax ... r15, rip, eflags: the order of enum reg. */
#define BPF_STOP_REGS 18

struct bpf_stop_word {
	u64 addr, value;
};

struct bpf_stop_cond {
	u64 regs[BPF_STOP_REGS];
	u32 compare; /* bit i: regs[i] must be equal */
	u32 n_words;
	struct bpf_stop_word words[BPF_STOP_WORDS];
	u64 count; /* how often it held: written by the program */
	u64 pass;  /* 0: stop whenever it holds */
	u32 count_only;
	u32 pad;
};

struct bpf_stop_slot {
	u64 ip; /* 0: free */
	u32 n_conds;
	/* Of the pass that stopped: bit i: condition i has been counted; and
	 * could not be evaluated (a word was not resident) nor counted. */
	u32 hit, unsure;
	u32 pad;
	struct bpf_stop_cond conds[BPF_STOP_CONDS];
};

#endif
