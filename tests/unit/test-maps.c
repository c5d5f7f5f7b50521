/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Address spaces over time, against a model that knows every page alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "trace/trace.h"

#define BASE	0x10000UL
#define N_PAGES 48
#define ADDR(p) (BASE + (u64)(p)*PAGE_BYTES)

struct page {
	bool there;
	u32 prot, file, share;
	u64 offset; /* of this page; of backed ones only */
};

static struct effect map_of(u64 page, u64 n, u32 prot, u32 file, u64 offset)
{
	return (struct effect){
		.kind = EF_MAP,
		.addr = ADDR(page),
		.len = n * PAGE_BYTES,
		.map = {.prot = prot,
			.flags = MAP_PRIVATE,
			.file = file,
			.offset = offset,
			.name = file ? "lib" : ""}
	  };
}

static void check_model(const struct maps *m, const struct page *model)
{
	for (size_t i = 0; i < m->n; i++) {
		assert_true(m->v[i].start < m->v[i].end);
		assert_non_null(m->v[i].name);
		if (i)
			assert_true(m->v[i - 1].end <= m->v[i].start);
	}
	for (u64 p = 0; p < N_PAGES; p++) {
		const struct map *map = maps_find(m, ADDR(p) + 5);

		assert_int_equal(map != NULL, model[p].there);
		if (!map)
			continue;
		assert_int_equal(map->prot, model[p].prot);
		assert_int_equal(map->file, model[p].file);
		assert_int_equal(map->share, model[p].share);
		if (map->file || map->share)
			assert_int_equal(map->offset + ADDR(p) - map->start,
					 model[p].offset);
	}
}

static void model_map(struct page *model, const struct effect *e)
{
	u64 p = (e->addr - BASE) / PAGE_BYTES;

	for (u64 i = 0; i < e->len / PAGE_BYTES; i++)
		model[p + i] = (struct page){true, e->map.prot, e->map.file, e->map.share,
					     e->map.offset + i * PAGE_BYTES};
}

/* Only within one mapping, as the kernel has it. */
static void model_remap(struct page *model, u64 from, u64 n, u64 to, u64 to_n, bool keep)
{
	struct page first = model[from];

	for (u64 i = 0; i < n && !keep; i++)
		model[from + i] = (struct page){0};
	for (u64 i = 0; i < to_n; i++) {
		model[to + i] = first;
		model[to + i].offset = first.offset + i * PAGE_BYTES;
	}
}

static struct effect random_effect(struct page *model)
{
	u64 p = random() % N_PAGES, n = 1 + random() % MIN(8UL, N_PAGES - p);
	u32 prot = random() & 7;
	struct effect e = {.addr = ADDR(p), .len = n * PAGE_BYTES};

	switch (random() % 4) {
	case 0:
		e = map_of(p, n, prot, random() % 3, random() % 4 * PAGE_BYTES);
		if (!e.map.file && random() % 2)
			e.map.share = 1 + random() % 2;
		model_map(model, &e);
		break;
	case 1:
		e.kind = EF_UNMAP;
		memset(&model[p], 0, n * sizeof(*model));
		break;
	case 2:
		e.kind = EF_PROTECT;
		e.protect.prot = prot;
		for (u64 i = p; i < p + n; i++)
			if (model[i].there)
				model[i].prot = prot;
		break;
	default:
		/* Resize one page or move it, never onto itself. */
		if (!model[0].there || p == 0)
			break;
		e.kind = EF_REMAP;
		e.remap.from = ADDR(0);
		e.remap.from_len = PAGE_BYTES;
		e.remap.flags = random() % 2 ? MREMAP_DONTUNMAP : 0;
		model_remap(model, 0, 1, p, n, e.remap.flags);
	}
	return e;
}

static void any_order_of_changes(void **state)
{
	for (unsigned seed = 1; seed <= 200; seed++) {
		struct page model[N_PAGES] = {0};
		struct maps m = {0}, copy;

		srandom(seed);
		for (int i = 0; i < 60; i++) {
			struct effect e = random_effect(model);

			assert_int_equal(maps_apply(&m, &e), 0);
			check_model(&m, model);
		}
		assert_int_equal(maps_copy(&copy, &m), 0);
		maps_fini(&m);
		check_model(&copy, model);
		maps_fini(&copy);
	}
}

static void neighbours_join_as_in_proc(void **state)
{
	struct effect e[] = {
		map_of(0, 2, PROT_READ, 1, 0),
		map_of(2, 2, PROT_READ, 1, 2 * PAGE_BYTES), /* goes on */
		map_of(4, 2, PROT_READ, 1, 9 * PAGE_BYTES), /* another part */
		map_of(6, 2, PROT_WRITE, 0, 0),
		map_of(8, 2, PROT_WRITE, 0, 0), /* anonymous: no offset counts */
	};
	struct maps m = {0};

	for (size_t i = 0; i < ARRAY_SIZE(e); i++)
		assert_int_equal(maps_apply(&m, &e[i]), 0);
	assert_int_equal(m.n, 3);
	assert_int_equal(m.v[0].end, ADDR(4));
	assert_int_equal(m.v[1].offset, 9 * PAGE_BYTES);
	assert_int_equal(m.v[2].start, ADDR(6));
	assert_int_equal(m.v[2].end, ADDR(10));
	maps_fini(&m);
}

static void a_hole_splits(void **state)
{
	struct effect map = map_of(0, 10, PROT_READ, 3, 0x40000);
	/* A length counts up to its page's end. */
	struct effect hole = {.kind = EF_UNMAP, .addr = ADDR(4), .len = 1};
	struct maps m = {0};

	assert_int_equal(maps_apply(&m, &map), 0);
	assert_int_equal(maps_apply(&m, &hole), 0);
	assert_int_equal(m.n, 2);
	assert_null(maps_find(&m, ADDR(4)));
	assert_null(maps_find(&m, ADDR(5) - 1));
	assert_int_equal(maps_find(&m, ADDR(5))->offset, 0x40000 + 5 * PAGE_BYTES);
	assert_null(maps_find(&m, BASE - 1));
	assert_null(maps_find(&m, ADDR(10)));
	maps_fini(&m);
}

static void senseless_effects_change_nothing(void **state)
{
	struct effect map = map_of(0, 4, PROT_READ, 0, 0);
	const u64 p = PAGE_BYTES;
	struct effect none = {.kind = EF_UNMAP, .addr = ADDR(0), .len = 0};
	struct effect around = {.kind = EF_UNMAP, .addr = ADDR(0), .len = ~0UL};
	struct effect mem = {.kind = EF_MEM, .addr = ADDR(0), .len = p};
	struct effect output = {.kind = EF_OUTPUT, .addr = ADDR(0), .len = p};
	struct effect unknown = {.kind = 200, .addr = ADDR(0), .len = p};
	struct effect absent = {.kind = EF_REMAP, .addr = ADDR(9), .len = p};
	const struct effect *e[] = {&none, &around, &mem, &output, &unknown, &absent};
	struct maps m = {0};

	absent.remap.from = ADDR(20);
	absent.remap.from_len = p;
	assert_int_equal(maps_apply(&m, &map), 0);
	for (size_t i = 0; i < ARRAY_SIZE(e); i++)
		assert_int_equal(maps_apply(&m, e[i]), 0);
	assert_int_equal(m.n, 1);
	assert_int_equal(m.v[0].start, ADDR(0));
	assert_int_equal(m.v[0].end, ADDR(4));
	maps_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order_of_changes),
		cmocka_unit_test(neighbours_join_as_in_proc),
		cmocka_unit_test(a_hole_splits),
		cmocka_unit_test(senseless_effects_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
