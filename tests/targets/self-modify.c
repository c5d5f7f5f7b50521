/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code written at run time, run, changed, and run again; as a JIT does. */
#include <sys/mman.h>
#include "target.h"

int main(void)
{
	/* mov $imm32, %eax; ret */
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t sum = 0;

	CHECK(code != MAP_FAILED);
	for (int i = 0; i < 20000; i++) {
		code[0] = 0xb8;
		memcpy(code + 1, &i, 4);
		code[5] = 0xc3;
		sum += ((int (*)(void))code)();
		sum = target_work(sum, 50);
	}
	printf("%llx\n", (unsigned long long)sum);
	return 0;
}
