// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Displaced code, byte by byte: what a window holds and what its copy reads.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stop/relocate.h"

#define AT 0x401000UL /* where the code stands */
#define TO 0x500000UL /* and its copy */

struct row {
	const char *name;
	const char *code;
	size_t n;
	int err;	  /* of code_decode() */
	const char *copy; /* of its first instruction at TO; NULL: the same bytes */
	size_t n_copy;
};

#define S(x) x, sizeof(x) - 1
#define NOPS "\x90\x90\x90\x90\x90"

/* clang-format off */
static const struct row rows[] = {
	{"push",	 S("\x55" NOPS),			0,	   S("\x55")			},
	{"mov imm",	 S("\xb8\x01\x02\x03\x04"),		0,	   S("\xb8\x01\x02\x03\x04")		},
	{"lea rip",	 S("\x48\x8d\x05\x10\x00\x00\x00"),	0,
	 /* 0x401017 from 0x500007 */
	 S("\x48\x8d\x05\x10\x10\xf0\xff")							},
	{"add imm to rip", S("\x83\x05\x10\x00\x00\x00\x07"),	0,
	 S("\x83\x05\x10\x10\xf0\xff\x07")							},
	{"vex rip",	 S("\xc5\xf9\x6f\x05\x00\x01\x00\x00"), 0,
	 S("\xc5\xf9\x6f\x05\x00\x11\xf0\xff")							},
	{"lock rip",	 S("\xf0\x48\xff\x05\x00\x00\x00\x00"), 0,
	 S("\xf0\x48\xff\x05\x00\x10\xf0\xff")							},
	{"jz short",	 S("\x74\x10" NOPS),			0,
	 /* 0x401012 from 0x500006 */
	 S("\x0f\x84\x0c\x10\xf0\xff")								},
	{"jg near",	 S("\x0f\x8f\x10\x00\x00\x00"),		0,
	 S("\x0f\x8f\x10\x10\xf0\xff")								},
	{"jmp short back", S("\xeb\xfe" NOPS),			0,	   S("\xe9\xfb\x0f\xf0\xff")	},
	{"jmp near",	 S("\xe9\x00\x00\x00\x00"),		0,	   S("\xe9\x00\x10\xf0\xff")		},
	{"loop",	 S("\xe2\x10" NOPS),			0,
	 /* 0x401012 from 0x500009 */
	 S("\xe2\x02\xeb\x05\xe9\x09\x10\xf0\xff")						},
	{"jrcxz",	 S("\xe3\x10" NOPS),			0,
	 S("\xe3\x02\xeb\x05\xe9\x09\x10\xf0\xff")						},
	{"jecxz",	 S("\x67\xe3\x10" NOPS),		0,
	 S("\x67\xe3\x02\xeb\x05\xe9\x09\x10\xf0\xff")						},
	{"call near",	 S("\xe8\x00\x00\x00\x00"),		0,
	 S("\xc7\x44\x24\xf8\x05\x10\x40\x00\xc7\x44\x24\xfc\x00\x00\x00\x00"
	   "\x48\x8d\x64\x24\xf8\xe9\xeb\x0f\xf0\xff")						},
	{"call rdx",	 S("\xff\xd2" NOPS),			0,
	 S("\xc7\x44\x24\xf8\x02\x10\x40\x00\xc7\x44\x24\xfc\x00\x00\x00\x00"
	   "\x48\x8d\x64\x24\xf8\xff\xe2")							},
	{"call 8(rsp)",	 S("\xff\x54\x24\x08" NOPS),		0,
	 S("\xc7\x44\x24\xf8\x04\x10\x40\x00\xc7\x44\x24\xfc\x00\x00\x00\x00"
	   "\x48\x8d\x64\x24\xf8\xff\x64\x24\x10")						},
	{"call of tls",	 S("\x66\x66\x48\xe8\x00\x00\x00\x00"), 0,
	 S("\xc7\x44\x24\xf8\x08\x10\x40\x00\xc7\x44\x24\xfc\x00\x00\x00\x00"
	   "\x48\x8d\x64\x24\xf8\xe9\xee\x0f\xf0\xff")						},
	{"jmp *rip",	 S("\xff\x25\x00\x00\x00\x00"),		0,	   S("\xff\x25\x00\x10\xf0\xff")	},
	{"ret",		 S("\xc3" NOPS),			0,	   S("\xc3")			},
	{"ret, int3s",	 S("\xc3\xcc\xcc\xcc\xcc"),		0,	   S("\xc3")			},
	{"rep movsb",	 S("\xf3\xa4" NOPS),			0,	   S("\xf3\xa4")			},
	{"syscall",	 S("\x0f\x05" NOPS),			-ENOTSUP, NULL, 0			},
	{"nop, syscall", S("\x90\x0f\x05" NOPS),		-ENOTSUP, NULL, 0			},
	{"cpuid",	 S("\x0f\xa2" NOPS),			-ENOTSUP, NULL, 0			},
	{"rdtsc",	 S("\x0f\x31" NOPS),			-ENOTSUP, NULL, 0			},
	{"int3",	 S("\xcc" NOPS),			-ENOTSUP, NULL, 0			},
	{"int 80",	 S("\xcd\x80" NOPS),			-ENOTSUP, NULL, 0			},
	{"hlt",		 S("\xf4" NOPS),			-ENOTSUP, NULL, 0			},
	{"xbegin",	 S("\xc7\xf8\x00\x00\x00\x00"),		-ENOTSUP, NULL, 0			},
	{"call rsp",	 S("\xff\xd4" NOPS),			-ENOTSUP, NULL, 0			},
	{"call 7c(rsp)", S("\xff\x54\x24\x7c" NOPS),		-ENOTSUP, NULL, 0			},
	{"not code",	 S("\x06" NOPS),			-ENOTSUP, NULL, 0			},
	{"cut short",	 S("\x90\x90\x90\x48"),			-ENOTSUP, NULL, 0			},
	{"iretq",	 S("\x48\xcf" NOPS),			-ENOTSUP, NULL, 0			},
};
/* clang-format on */

static void test_rows(void **state)
{
	static const u64 entry[WINDOW_INSNS];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		struct wbuf out = {0};
		struct code_window w;
		u8 pushed;
		int err = code_decode(&w, AT, (const u8 *)r->code, r->n, NULL, NULL);

		if (err != r->err)
			fail_msg("%s: %d, not %d", r->name, err, r->err);
		if (err)
			continue;
		assert_true(w.len >= JUMP_BYTES);
		assert_int_equal(code_emit(&w, 0, &out, TO, entry, &pushed), 0);
		if (out.len != r->n_copy || memcmp(out.data, r->copy, out.len))
			fail_msg("%s: its copy differs", r->name);
		wbuf_free(&out);
	}
}

/* A branch inside the window goes to the copies. */
static void test_inner_branch(void **state)
{
	/* 1: nop; nop; nop; jnz 1b */
	static const u8 code[] = {0x90, 0x90, 0x90, 0x75, 0xfb};
	u64 entry[WINDOW_INSNS] = {TO + 0x40, 1, 2, 3};
	struct wbuf out = {0};
	struct code_window w;
	s32 rel;
	u8 pushed;

	assert_int_equal(code_decode(&w, AT, code, sizeof(code), NULL, NULL), 0);
	assert_int_equal(w.n, 4);
	assert_int_equal(code_emit(&w, 3, &out, TO, entry, &pushed), 0);
	assert_int_equal(out.len, 6);
	memcpy(&rel, out.data + 2, 4);
	assert_int_equal(TO + 6 + rel, TO + 0x40);
	wbuf_free(&out);
}

/* Out of reach of a rel32: said, not cut. */
static void test_range(void **state)
{
	static const u64 entry[WINDOW_INSNS];
	static const struct {
		const char *code;
		size_t n;
	} far[] = {
		{S("\x48\x8d\x05\x10\x00\x00\x00")}, {S("\x74\x10" NOPS)},
		{S("\xe9\x00\x00\x00\x00")},	     {S("\xe2\x10" NOPS)},
		{S("\xe8\x00\x00\x00\x00")},
	};

	for (size_t i = 0; i < ARRAY_SIZE(far); i++) {
		struct wbuf out = {0};
		struct code_window w;
		u8 pushed;

		assert_int_equal(
			code_decode(&w, AT, (const u8 *)far[i].code, far[i].n, NULL, NULL),
			0);
		assert_int_equal(code_emit(&w, 0, &out, AT + (3UL << 30), entry, &pushed),
				 -ERANGE);
		wbuf_free(&out);
	}
}

/* Boundaries trap, what a lock prefix hides traps, the rest is free. */
static void test_cover(void **state)
{
	static const u8 code[] = {0x90, 0xf0, 0xff, 0x00, 0x90};
	struct code_window w;

	assert_int_equal(code_decode(&w, AT, code, sizeof(code), NULL, NULL), 0);
	assert_int_equal(code_cover(&w, 0), COVER_JUMP);
	assert_int_equal(code_cover(&w, 1), COVER_TRAP);
	assert_int_equal(code_cover(&w, 2), COVER_TRAP);
	assert_int_equal(code_cover(&w, 3), COVER_FREE);
	assert_int_equal(code_cover(&w, 4), COVER_TRAP);
}

/* Any bytes at all: decoded or refused, and what is decoded stays inside. */
static void test_noise(void **state)
{
	static const u64 entry[WINDOW_INSNS];

	srand(1);
	for (int i = 0; i < 200000; i++) {
		u8 code[WINDOW_BYTES];
		struct code_window w;
		size_t n = rand() % (sizeof(code) + 1);

		for (size_t k = 0; k < n; k++)
			code[k] = rand();
		if (code_decode(&w, AT, code, n, NULL, NULL))
			continue;
		assert_true(w.len <= n && w.n <= WINDOW_INSNS && w.len >= w.cover);
		for (unsigned k = 0; k < w.n; k++) {
			struct wbuf out = {0};
			u8 pushed;
			int err = code_emit(&w, k, &out, TO, entry, &pushed);

			assert_true(!err || err == -ERANGE);
			assert_true(out.len <= 64);
			wbuf_free(&out);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),  cmocka_unit_test(test_inner_branch),
		cmocka_unit_test(test_range), cmocka_unit_test(test_cover),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
