/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * steps.c - a small program without a C library that does one of each: calls,
 * a recursion, a loop that changes memory only, rep string instructions,
 * system calls. Its whole execution can be single-stepped in a test.
 */
static volatile unsigned long cells[64];
static char area[4096];

static long sys3(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return ret;
}

__attribute__((noinline)) static unsigned long fib(unsigned long n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) static void fill(void *to, int c, unsigned long n)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
}

__attribute__((noinline)) static void mix(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		cells[i & 63] += i * 0x9e3779b97f4a7c15UL;
}

__attribute__((used)) void run(void)
{
	for (int i = 0; i < 4; i++) {
		cells[0] += fib(6);
		fill(area, i, 700 + i);
		mix(200);
		sys3(39, 0, 0, 0);
	}
	sys3(1, 1, (long)"done\n", 5);
	mix(50);
	sys3(231, 7, 0, 0);
}

__asm__(".globl _start\n_start:\n\txor %ebp,%ebp\n\tcall run\n\thlt\n");
