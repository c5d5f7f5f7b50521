/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <cpuid.h>

#include "arch/x86_64/cpuid.h"

#define BIT(n) (1U << (n))

/* Bits to clear; Intel SDM volume 2A, CPUID, and volume 1 for AMX and XSAVE. */
static const struct {
	u32 leaf, subleaf;
	struct cpuid_regs clear;
} masks[] = {
	/* RDRAND */
	{1,	    0,  {.ecx = BIT(30)}	       },
	{7,
	 0,	      {
		 /* HLE, RTM, RDSEED: chance, or aborts that no one can repeat. */
		 .ebx = BIT(4) | BIT(11) | BIT(18),
		 /* PKU, OSPKE (keys are not kept in a replay), WAITPKG, CET_SS,
		  * RDPID, ENQCMD. */
		 .ecx = BIT(3) | BIT(4) | BIT(5) | BIT(7) | BIT(22) | BIT(29),
		 /* UINTR, RTM_ALWAYS_ABORT, TSXLDTRK, AMX-BF16, -TILE, -INT8. */
		 .edx = BIT(5) | BIT(11) | BIT(16) | BIT(22) | BIT(24) | BIT(25),
	 }				   },
 /* AMX-FP16; AMX-COMPLEX. */
	{7,	    1,  {.eax = BIT(21), .edx = BIT(8)}},
 /* XTILECFG, XTILEDATA. */
	{0xd,	      0,	 {.eax = BIT(17) | BIT(18)}	   },
	{0xd,	      17, {~0U, ~0U, ~0U, ~0U}	      },
	{0xd,	      18, {~0U, ~0U, ~0U, ~0U}	      },
 /* Tile information, TMUL information. */
	{0x1d,       0,  {~0U, ~0U, ~0U, ~0U}	      },
	{0x1d,       1,  {~0U, ~0U, ~0U, ~0U}	      },
	{0x1e,       0,  {~0U, ~0U, ~0U, ~0U}	      },
 /* MONITORX, of AMD: a wait that ends by chance. */
	{0x80000001, 0,	{.ecx = BIT(29)}		},
};

/* Leaves that have no subleaf ignore ecx. */
static bool has_subleaf(u32 leaf)
{
	return leaf == 7 || leaf == 0xd || leaf == 0x1d || leaf == 0x1e;
}

void cpuid_mask(u32 leaf, u32 subleaf, struct cpuid_regs *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
		if (masks[i].leaf != leaf ||
		    (has_subleaf(leaf) && masks[i].subleaf != subleaf))
			continue;
		r->eax &= ~masks[i].clear.eax;
		r->ebx &= ~masks[i].clear.ebx;
		r->ecx &= ~masks[i].clear.ecx;
		r->edx &= ~masks[i].clear.edx;
	}
}

void cpuid_masked(u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	__cpuid_count(leaf, subleaf, out->eax, out->ebx, out->ecx, out->edx);
	cpuid_mask(leaf, subleaf, out);
}
