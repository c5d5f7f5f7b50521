/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "replay/gdb-host.h"
#include "replay/gdb-names.h"
#include "sample/verdicts.h"
#include "sym/sym.h"

struct names {
	struct sym *sym; /* owns the functions' names */
	const char **v;	 /* by sample number - 1 */
	u64 n;
	/* Names of objects, for samples in none of their functions: few. */
	char **objects;
	size_t n_objects, cap;
	struct verdicts verdicts;
};

static const char *object_name(struct names *n, const char *file)
{
	const char *base = strrchr(file, '/');
	char *copy;

	base = base && base[1] ? base + 1 : file;
	for (size_t i = 0; i < n->n_objects; i++) {
		if (!strcmp(n->objects[i], base))
			return n->objects[i];
	}
	if (array_reserve(&n->objects, &n->cap, n->n_objects + 1, sizeof(*n->objects)))
		return NULL;
	copy = strdup(base);
	if (copy)
		n->objects[n->n_objects++] = copy;
	return copy;
}

static int take(void *ctx, const struct sample *s, const struct maps *maps)
{
	struct names *n = ctx;
	struct sym_name name;

	if (!s->number || s->number > n->n)
		return 0;
	sym_sample_name(n->sym, s, maps, &name);
	n->v[s->number - 1] = name.func ? name.func : object_name(n, name.file);
	return 0;
}

int names_load(struct gdb_host *h)
{
	struct names *n;
	int err;

	if (h->names)
		return 0;
	n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->n = trace_reader_samples(h->r);
	n->v = calloc(n->n ? n->n : 1, sizeof(*n->v));
	err = n->v ? sym_new(&n->sym, h->r) : -ENOMEM;
	if (!err)
		err = verdicts_load(&n->verdicts, trace_reader_dir(h->r), n->n);
	if (!err || err == -ENOENT)
		err = sym_each_sample(h->r, take, n);
	if (err) {
		names_free(n);
		return err;
	}
	h->names = n;
	return 0;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	sym_free(n->sym);
	for (size_t i = 0; i < n->n_objects; i++)
		free(n->objects[i]);
	free(n->objects);
	verdicts_fini(&n->verdicts);
	free(n->v);
	free(n);
}

const char *names_sample(const struct names *n, u64 number)
{
	return n && number && number <= n->n ? n->v[number - 1] : NULL;
}

u64 names_matches(const struct names *n, u64 number)
{
	return n ? verdicts_matches(&n->verdicts, number) : 1;
}
