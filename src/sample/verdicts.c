/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "sample/verdicts.h"

/*
 * A text file "verified": the number of samples, then a line "NUMBER MATCHES"
 * for each that is not exact, then "end". It can be lost without harm.
 */
#define NAME "verified"

void verdicts_fini(struct verdicts *v)
{
	free(v->v);
	*v = (struct verdicts){0};
}

int verdicts_add(struct verdicts *v, u64 number, u64 matches)
{
	int err;

	v->samples++;
	if (matches == 1)
		return 0;
	err = array_reserve(&v->v, &v->cap, v->n + 1, sizeof(*v->v));
	if (err)
		return err;
	v->v[v->n++] = (struct verdict){number, matches};
	if (matches)
		v->repeated++;
	else
		v->lost++;
	return 0;
}

static int by_number(const void *pa, const void *pb)
{
	const struct verdict *a = pa, *b = pb;

	return a->number < b->number ? -1 : a->number > b->number;
}

int verdicts_save(struct verdicts *v, const char *dir)
{
	char path[PATH_MAX], temp[PATH_MAX];
	int err = 0;
	FILE *f;

	if (snprintf(path, sizeof(path), "%s/" NAME, dir) >= (int)sizeof(path) ||
	    snprintf(temp, sizeof(temp), "%s/" NAME ".new", dir) >= (int)sizeof(temp))
		return -ENAMETOOLONG;
	if (v->n)
		qsort(v->v, v->n, sizeof(*v->v), by_number);
	f = fopen(temp, "we");
	if (!f)
		return -errno;
	fprintf(f, "%" PRIu64 "\n", v->samples);
	for (size_t i = 0; i < v->n; i++)
		fprintf(f, "%" PRIu64 " %" PRIu64 "\n", v->v[i].number, v->v[i].matches);
	fputs("end\n", f);
	if (fflush(f) || ferror(f))
		err = -EIO;
	if (fclose(f) && !err)
		err = -errno;
	/* Whoever reads meanwhile sees the old one or the new one, whole. */
	if (!err && rename(temp, path))
		err = -errno;
	if (err)
		remove(temp);
	return err;
}

static int parse(struct verdicts *v, FILE *f, u64 samples)
{
	u64 last = 0, number, matches;
	char end[4];
	int err = 0, got;

	if (fscanf(f, "%" SCNu64, &v->samples) != 1 || v->samples != samples)
		return -ENOENT;
	while (!err && (got = fscanf(f, "%" SCNu64 " %" SCNu64, &number, &matches)) == 2) {
		if (number <= last || number > samples || matches == 1)
			return -ENOENT;
		last = number;
		err = verdicts_add(v, number, matches);
	}
	v->samples = samples;
	if (!err && (got == 1 || fscanf(f, "%3s", end) != 1 || end[0] != 'e'))
		err = -ENOENT;
	return err;
}

int verdicts_load(struct verdicts *v, const char *dir, u64 samples)
{
	char path[PATH_MAX];
	FILE *f;
	int err;

	*v = (struct verdicts){0};
	if (!samples || snprintf(path, sizeof(path), "%s/" NAME, dir) >= (int)sizeof(path))
		return -ENOENT;
	f = fopen(path, "re");
	if (!f)
		return -ENOENT;
	err = parse(v, f, samples);
	fclose(f);
	if (err)
		verdicts_fini(v);
	return err;
}

u64 verdicts_matches(const struct verdicts *v, u64 number)
{
	size_t lo = 0, hi = v->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v->v[mid].number == number)
			return v->v[mid].matches;
		if (v->v[mid].number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 1;
}
