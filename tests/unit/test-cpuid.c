/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of CPUID a recorded program does not see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/x86_64/cpuid.h"

#define ALL	    ((struct cpuid_regs){~0U, ~0U, ~0U, ~0U})
#define HAS(r, bit) (!!((r) & (1U << (bit))))

static void chance_is_hidden(void **state)
{
	struct cpuid_regs r = ALL;

	cpuid_mask(1, 0, &r);
	assert_false(HAS(r.ecx, 30)); /* RDRAND */
	assert_true(HAS(r.ecx, 28));  /* AVX stays */
	assert_true(HAS(r.edx, 4));   /* TSC stays: it is recorded */
	r = ALL;
	cpuid_mask(7, 0, &r);
	assert_false(HAS(r.ebx, 18)); /* RDSEED */
	assert_false(HAS(r.ebx, 11)); /* RTM */
	assert_false(HAS(r.ecx, 22)); /* RDPID */
	assert_false(HAS(r.edx, 24)); /* AMX-TILE */
	assert_true(HAS(r.ebx, 5));   /* AVX2 stays */
}

static void subleaves(void **state)
{
	struct cpuid_regs r = ALL;

	/* Leaf 1 has none: whatever is in ecx does not matter. */
	cpuid_mask(1, 77, &r);
	assert_false(HAS(r.ecx, 30));
	r = ALL;
	cpuid_mask(7, 2, &r);
	assert_int_equal(r.ebx, ~0U);
	cpuid_mask(0xd, 18, &r);
	assert_int_equal(r.eax | r.ebx | r.ecx | r.edx, 0);
}

static void this_cpu(void **state)
{
	struct cpuid_regs r;

	cpuid_masked(0, 0, &r);
	assert_true(r.eax >= 1 && r.ebx);
	cpuid_masked(1, 0, &r);
	assert_false(HAS(r.ecx, 30));
	assert_true(HAS(r.edx, 26)); /* SSE2: every x86-64 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chance_is_hidden),
		cmocka_unit_test(subleaves),
		cmocka_unit_test(this_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
