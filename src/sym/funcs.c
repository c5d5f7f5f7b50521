/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/funcs.h"

/* Far above what any real file holds; what a damaged one claims ends here. */
#define MAX_FUNCS      (8U << 20)
#define MAX_NAME_BYTES 4096

/* How many ranges that start before the nearest one may still cover it. */
#define MAX_NESTING 16

void funcs_fini(struct funcs *f)
{
	wbuf_free(&f->names);
	free(f->v);
	*f = (struct funcs){0};
}

int funcs_add(struct funcs *f, const struct func *fn, const char *name, const char *suffix)
{
	struct func *to;
	size_t len = strnlen(name, MAX_NAME_BYTES);
	int err;

	if (fn->end <= fn->start || !len || f->n >= MAX_FUNCS ||
	    f->names.len > UINT32_MAX - 2 * MAX_NAME_BYTES)
		return 0;
	err = array_reserve(&f->v, &f->cap, f->n + 1, sizeof(*f->v));
	if (err)
		return err;
	to = &f->v[f->n];
	*to = *fn;
	to->name = f->names.len;
	wbuf_bytes(&f->names, name, len);
	wbuf_bytes(&f->names, suffix, strlen(suffix) + 1);
	if (f->names.err)
		return f->names.err;
	f->n++;
	return 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct func *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	/* Same place, same rank: the order in the file decides, so that the
	 * name shown does not depend on the sort. */
	return a->name < b->name ? -1 : 1;
}

void funcs_sort(struct funcs *f)
{
	u64 covered = 0; /* end of the sized ranges so far */
	size_t kept = 0;

	if (!f->n)
		return;
	qsort(f->v, f->n, sizeof(*f->v), compare);
	for (size_t i = 0; i < f->n; i++) {
		const struct func *fn = &f->v[i];

		if (kept && f->v[kept - 1].start == fn->start)
			continue;
		/* A label without a size inside a function is not a function. */
		if (!fn->sized && fn->start < covered)
			continue;
		if (fn->sized)
			covered = MAX(covered, fn->end);
		f->v[kept++] = *fn;
	}
	f->n = kept;
	for (size_t i = 0; i + 1 < f->n; i++) {
		if (!f->v[i].sized)
			f->v[i].end = MIN(f->v[i].end, f->v[i + 1].start);
	}
}

const struct func *funcs_find(const struct funcs *f, u64 addr)
{
	size_t lo = 0, hi = f->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t back = 0; back < MAX_NESTING && lo > back; back++) {
		const struct func *fn = &f->v[lo - 1 - back];

		if (addr < fn->end)
			return fn;
	}
	return NULL;
}
