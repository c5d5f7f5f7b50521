/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cpuid.h - CPUID as a recorded program sees it: without the instructions
 * whose result cannot be recorded or is not the same twice.
 */
#ifndef PLAYHEAD_CPUID_H
#define PLAYHEAD_CPUID_H

#include "base/base.h"

struct cpuid_regs {
	u32 eax, ebx, ecx, edx;
};

/* This CPU's answer to @leaf, @subleaf with the masks laid over it. */
void cpuid_masked(u32 leaf, u32 subleaf, struct cpuid_regs *out);
/* The masks alone. Pure. */
void cpuid_mask(u32 leaf, u32 subleaf, struct cpuid_regs *r);

#endif
