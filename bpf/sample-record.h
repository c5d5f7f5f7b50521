/* SPDX-License-Identifier: MIT OR GPL-2.0-or-later */
/*
 * sample-record.h - what bpf/sample.bpf.c puts into the ring for each sample
 * and src/sample/sampler-bpf.c takes out.
 *
 * Needs u32/u64 of its includer.
 */
#ifndef PLAYHEAD_SAMPLE_RECORD_H
#define PLAYHEAD_SAMPLE_RECORD_H

#include "print.h"

#define SAMPLE_RECORD_REGS   18 /* rax .. eflags, in the order of enum reg */
#define SAMPLE_RECORD_FRAMES 32

#define SAMPLE_RECORD_KERNEL  1u /* the CPU was in the kernel */
#define SAMPLE_RECORD_SYSCALL 2u /* and the thread in a system call: no print */

struct sample_record {
	u64 time_ns; /* CLOCK_MONOTONIC */
	u32 pid, tid;
	u32 flags;
	u32 n_kernel;
	u64 regs[SAMPLE_RECORD_REGS];
	u64 orig_rax;
	struct print print;
	u64 kernel[SAMPLE_RECORD_FRAMES]; /* innermost first */
};

#endif
