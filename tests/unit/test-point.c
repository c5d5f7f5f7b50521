/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <xxhash.h>

#include "point/point.h"
#include "bpf/print-hash.h"

/* A small address space: a stack of 6 pages and a heap of 2 pages. */
#define STACK_AT    0x7ffffffe0000UL
#define STACK_PAGES 6
#define HEAP_AT	    0x555500000000UL
#define HEAP_PAGES  2
#define RSP	    (STACK_AT + PAGE_BYTES + 0x7a8)

struct space {
	u8 stack[STACK_PAGES * PAGE_BYTES];
	u8 heap[HEAP_PAGES * PAGE_BYTES];
	u64 hole; /* a page that cannot be read */
	int reads;
};

static int space_read(void *ctx, u64 addr, void *buf, size_t n)
{
	struct space *s = ctx;

	s->reads++;
	if (s->hole && addr < s->hole + PAGE_BYTES && addr + n > s->hole)
		return -EFAULT;
	if (addr >= STACK_AT && addr + n <= STACK_AT + sizeof(s->stack))
		memcpy(buf, s->stack + (addr - STACK_AT), n);
	else if (addr >= HEAP_AT && addr + n <= HEAP_AT + sizeof(s->heap))
		memcpy(buf, s->heap + (addr - HEAP_AT), n);
	else
		return -EFAULT;
	return 0;
}

static u64 *heap_word(struct space *s, u64 addr)
{
	return (u64 *)(s->heap + (addr - HEAP_AT));
}

static int setup(void **state)
{
	struct space *s = calloc(1, sizeof(*s));

	if (!s)
		return -1;
	srandom(1);
	/* Random words, none of which is an address of the space. */
	for (size_t i = 0; i < sizeof(s->stack); i++)
		s->stack[i] = random();
	for (size_t i = 0; i < sizeof(s->heap); i += 8)
		*heap_word(s, HEAP_AT + i) = 0xfff0000000000000UL | random();
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static struct regs some_regs(void)
{
	struct regs r = {0};

	r.r[X86_RSP] = RSP;
	r.r[X86_RIP] = 0x401000;
	r.r[X86_RAX] = 17;
	r.r[X86_RBX] = HEAP_AT + 0x100;
	r.r[X86_R15] = HEAP_AT + 0x203; /* inside the word at 0x200 */
	return r;
}

static struct print print_of(struct space *s, const struct regs *r)
{
	struct print p;

	assert_int_equal(print_compute(&p, r, NULL, space_read, s), 0);
	return p;
}

static void shape_of_a_print(void **state)
{
	struct space *s = *state;
	struct regs r = some_regs();
	struct print p = print_of(s, &r);

	assert_int_equal(p.valid[0], PRINT_VALID_STACKS | PRINT_VALID_WINDOW(1) |
					     PRINT_VALID_WINDOW(14));
	assert_int_equal(p.valid[1], 0);
	assert_int_equal(p.valid[2], 0);
	assert_int_equal(p.inner, 0);

	*heap_word(s, HEAP_AT + 0x100 + 3 * 8) = HEAP_AT + 0x400;
	*heap_word(s, HEAP_AT + 0x200) = HEAP_AT + 0x500;
	p = print_of(s, &r);
	assert_int_equal(p.valid[1], 1UL << (1 * 8 + 3));
	assert_int_equal(p.valid[2], 1UL << (14 * 8 - 64));
	assert_int_not_equal(p.inner, 0);
}

static void stack_stops_at_a_hole(void **state)
{
	struct space *s = *state;
	struct regs r = some_regs();

	s->hole = STACK_AT + 3 * PAGE_BYTES;
	assert_int_equal(print_of(s, &r).valid[0] & PRINT_VALID_STACKS, 0x3);
	s->hole = STACK_AT + PAGE_BYTES;
	assert_int_equal(print_of(s, &r).valid[0] & PRINT_VALID_STACKS, 0);
	assert_int_equal(print_of(s, &r).stack, 0);
	/* Page aligned: four pieces are the whole. */
	s->hole = 0;
	r.r[X86_RSP] = STACK_AT + PAGE_BYTES;
	assert_int_equal(print_of(s, &r).valid[0] & PRINT_VALID_STACKS, 0xf);
}

/* Every bit of what the print covers, and none outside of it, changes it. */
static void every_bit_counts(void **state)
{
	struct space *s = *state;
	struct regs r = some_regs();
	struct print a, b;

	*heap_word(s, HEAP_AT + 0x100) = HEAP_AT + 0x800;
	a = print_of(s, &r);
	for (u64 at = RSP; at < RSP + PRINT_STACK_BYTES; at += 1 + random() % 61) {
		u8 bit = 1 << random() % 8;

		s->stack[at - STACK_AT] ^= bit;
		b = print_of(s, &r);
		assert_int_not_equal(a.stack, b.stack);
		assert_int_equal(a.windows, b.windows);
		s->stack[at - STACK_AT] ^= bit;
	}
	for (u64 at = HEAP_AT; at < HEAP_AT + PAGE_BYTES; at += 8) {
		bool outer = (at >= HEAP_AT + 0x100 && at < HEAP_AT + 0x140) ||
			     (at >= HEAP_AT + 0x200 && at < HEAP_AT + 0x240);
		bool inner = at >= HEAP_AT + 0x800 && at < HEAP_AT + 0x840;
		u64 bit = 1UL << random() % 3;

		*heap_word(s, at) ^= bit << 20;
		b = print_of(s, &r);
		assert_int_equal(a.windows != b.windows, outer);
		if (at != HEAP_AT + 0x100)
			assert_int_equal(a.inner != b.inner, inner);
		*heap_word(s, at) ^= bit << 20;
	}
	s->stack[RSP - 1 - STACK_AT] ^= 1;
	s->stack[RSP + PRINT_STACK_BYTES - STACK_AT] ^= 1;
	b = print_of(s, &r);
	assert_memory_equal(&a, &b, sizeof(a));
}

static u64 *stack_word(struct space *s, u64 addr)
{
	return (u64 *)(s->stack + (addr - STACK_AT));
}

/* Slot 3 shows 0x300, whose word 2 shows 0x700. */
static void slots_of_the_stack(void **state)
{
	struct space *s = *state;
	struct regs r = some_regs();
	struct print a, b;

	for (int i = 0; i < PRINT_SLOTS; i++)
		*stack_word(s, RSP + 8 * i) = 7 + i;
	a = print_of(s, &r);
	assert_int_equal(a.valid[3], 0);
	assert_int_equal(a.slots, 0);
	*stack_word(s, RSP + 8 * 3) = HEAP_AT + 0x305;
	*stack_word(s, RSP + 8 * 4) = HEAP_AT + 0x300;		 /* the same again */
	*stack_word(s, RSP + 8 * 5) = HEAP_AT + 0x100;		 /* rbx has it */
	*stack_word(s, RSP + 8 * PRINT_SLOTS) = HEAP_AT + 0x900; /* too far up */
	*heap_word(s, HEAP_AT + 0x310) = HEAP_AT + 0x700;
	a = print_of(s, &r);
	assert_int_equal(a.valid[3], 1 << 3);
	assert_int_equal(a.valid[4], 1UL << (3 * 8 + 2));
	assert_int_equal(a.valid[5] | a.valid[6] | a.valid[7], 0);
	for (u64 at = HEAP_AT; at < HEAP_AT + PAGE_BYTES; at += 8) {
		bool slot = (at >= HEAP_AT + 0x300 && at < HEAP_AT + 0x340) ||
			    (at >= HEAP_AT + 0x700 && at < HEAP_AT + 0x740);

		*heap_word(s, at) ^= 1;
		b = print_of(s, &r);
		assert_int_equal(a.slots != b.slots, slot);
		*heap_word(s, at) ^= 1;
	}
}

/* What cannot be read takes the more time: the tries come to an end. */
static void slots_have_an_end(void **state)
{
	struct space *s = *state;
	struct regs r = some_regs();
	struct print p, again;

	for (int i = 0; i < PRINT_SLOTS; i++)
		*stack_word(s, RSP + 8 * i) = 0x10000000 + 64 * i; /* not mapped */
	s->reads = 0;
	p = print_of(s, &r);
	assert_int_equal(p.valid[3], 0);
	/* the stack's pieces, two windows of registers, then slots */
	assert_int_equal(s->reads,
			 PRINT_STACK_PIECES + 2 + PRINT_SLOT_READS / PRINT_SLOT_FAULT);
	for (int i = 0; i < PRINT_SLOTS; i++)
		*stack_word(s, RSP + 8 * i) = HEAP_AT + 0x400 + 64 * i;
	for (int i = 0; i < 256; i++)
		*heap_word(s, HEAP_AT + 0x400 + 8 * i) = HEAP_AT + 0x400 + 8 * i;
	s->reads = 0;
	p = print_of(s, &r);
	assert_int_equal(s->reads, PRINT_STACK_PIECES + 2 + PRINT_SLOT_READS);
	/* In replay what is valid is read, all of it. */
	s->reads = 0;
	assert_int_equal(print_compute(&again, &r, p.valid, space_read, s), 0);
	assert_int_equal(s->reads, PRINT_STACK_PIECES + 2 + PRINT_SLOT_READS);
	assert_memory_equal(&p, &again, sizeof(p));
}

static void swapped_words_differ(void **state)
{
	struct space *s = *state;
	struct regs r = some_regs();
	struct print a = print_of(s, &r);
	u64 *w = (u64 *)(s->stack + (RSP - STACK_AT));

	for (int i = 0; i < 2000; i++) {
		u64 *x = w + random() % (PRINT_STACK_BYTES / 8);
		u64 *y = i % 2 ? w + random() % (PRINT_STACK_BYTES / 8) : x + 4;
		u64 t = *x;

		if (y >= w + PRINT_STACK_BYTES / 8 || *x == *y)
			continue;
		*x = *y;
		*y = t;
		assert_int_not_equal(print_of(s, &r).stack, a.stack);
		*y = *x;
		*x = t;
	}
	/* The same high bit in two words of one lane. */
	w[0] ^= 1UL << 63;
	w[4] ^= 1UL << 63;
	assert_int_not_equal(print_of(s, &r).stack, a.stack);
}

static void what_is_no_window(void **state)
{
	static const u64 no[] = {0, 17, 0xffff, 0x7ffffffff000, ~0UL, PRINT_AGENT,
				 PRINT_AGENT + PRINT_AGENT_SIZE - 1,
				 /* dead stack, from its first byte to its last */
				 RSP - PRINT_RED_ZONE - 8,
				 RSP - PRINT_RED_ZONE - PRINT_STACK_BYTES};
	static const u64 yes[] = {0x10000,
				  0x7fffffffefff,
				  PRINT_AGENT - 1,
				  PRINT_AGENT + PRINT_AGENT_SIZE,
				  RSP - PRINT_RED_ZONE,
				  RSP,
				  RSP - PRINT_RED_ZONE - PRINT_STACK_BYTES - 8};

	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		assert_int_equal(print_window(no[i], RSP), 0);
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		assert_int_equal(print_window(yes[i], RSP), yes[i] & ~7UL);
}

static struct point point_at(struct space *s, const struct regs *r)
{
	return (struct point){.regs = *r, .print = print_of(s, r)};
}

static int explain(struct point *p, struct regs *r, struct space *s, const char *want)
{
	char why[256];
	int m = point_matches(p, r, space_read, s);

	point_explain(p, r, space_read, s, why, sizeof(why));
	assert_string_equal(why, want);
	return m;
}

static void only_valid_pieces_are_compared(void **state)
{
	struct space *s = *state;
	struct regs r = some_regs();
	struct point p;

	/* Recorded with two pages that were not resident ... */
	s->hole = STACK_AT + 3 * PAGE_BYTES;
	r.r[X86_R9] = s->hole + 64;
	p = point_at(s, &r);
	/* ... which are there in replay. */
	s->hole = 0;
	assert_int_equal(explain(&p, &r, s, "nothing differs"), 1);
	s->stack[3 * PAGE_BYTES + 70] ^= 1;
	assert_int_equal(explain(&p, &r, s, "nothing differs"), 1);
	s->stack[3 * PAGE_BYTES - 1] ^= 1;
	assert_int_equal(explain(&p, &r, s, "stack differs"), 0);
	s->stack[3 * PAGE_BYTES - 1] ^= 1;
	/* The other way round it is a difference, and no error. */
	s->hole = HEAP_AT;
	assert_int_equal(explain(&p, &r, s, "memory at a register cannot be read"), 0);
	s->hole = STACK_AT + 2 * PAGE_BYTES;
	assert_int_equal(explain(&p, &r, s, "stack cannot be read"), 0);
}

static void parts_in_order(void **state)
{
	struct space *s = *state;
	struct regs r = some_regs(), other = r;
	struct point_page page = {.addr = HEAP_AT + PAGE_BYTES};
	struct point p;

	*heap_word(s, HEAP_AT + 0x100) = HEAP_AT + 0x800;
	p = point_at(s, &r);
	p.n_words = 1;
	p.words[0] = (struct point_word){HEAP_AT + 0xf00, *heap_word(s, HEAP_AT + 0xf00)};
	page.hash = XXH3_64bits(s->heap + PAGE_BYTES, PAGE_BYTES);
	p.n_pages = 1;
	p.pages = &page;
	assert_int_equal(explain(&p, &r, s, "nothing differs"), 1);

	*heap_word(s, page.addr + 8) += 1;
	assert_int_equal(explain(&p, &r, s, "page 0x555500001000 differs"), 0);
	*heap_word(s, HEAP_AT + 0x808) += 1;
	assert_int_equal(explain(&p, &r, s, "inner memory differs"), 0);
	*heap_word(s, HEAP_AT + 0x208) += 1;
	assert_int_equal(explain(&p, &r, s, "memory at a register differs"), 0);
	s->stack[RSP - STACK_AT] += 1;
	assert_int_equal(explain(&p, &r, s, "stack differs"), 0);
	*heap_word(s, HEAP_AT + 0xf00) += 1;
	assert_int_equal(explain(&p, &r, s, "word 0x555500000f00 differs"), 0);
	other.r[X86_R9] = 5;
	s->reads = 0;
	assert_int_equal(point_matches(&p, &other, space_read, s), 0);
	assert_int_equal(s->reads, 0);
	explain(&p, &other, s, "registers differ: r9 0 != 0x5");
}

static void a_zeroed_print_agrees(void **state)
{
	struct space *s = *state;
	struct regs r = some_regs();
	struct point p = {.regs = r};

	assert_int_equal(point_matches(&p, &r, space_read, s), 1);
}

static void fini_frees_pages(void **state)
{
	struct point p = {.n_pages = 3, .pages = calloc(3, sizeof(struct point_page))};

	point_fini(&p);
	assert_null(p.pages);
	assert_int_equal(p.n_pages, 0);
	point_fini(&p);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(shape_of_a_print),  T(stack_stops_at_a_hole),
		T(every_bit_counts),  T(slots_of_the_stack),
		T(slots_have_an_end), T(swapped_words_differ),
		T(what_is_no_window), T(only_valid_pieces_are_compared),
		T(parts_in_order),    T(a_zeroed_print_agrees),
		T(fini_frees_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
