/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ksym.c - names of kernel code from /proc/kallsyms, read when first asked
 * for: 120,000 lines take some 30 ms.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "sample/sampler-internal.h"

struct ksym {
	u64 addr;
	u32 name; /* offset in names */
};

struct ksyms {
	struct ksym *v;
	size_t n, cap;
	struct wbuf names;
};

/* The next symbol that is code. @name has room for 256 bytes. */
static bool next_text(FILE *f, u64 *addr, char *name)
{
	char line[512], type;

	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 " %c %255s", addr, &type, name) != 3)
			continue;
		if (strchr("tTwW", type))
			return true;
	}
	return false;
}

static int by_addr(const void *a, const void *b)
{
	const struct ksym *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* What cannot be read or held is left out: names are a convenience. */
static struct ksyms *ksyms_read(void)
{
	struct ksyms *k = calloc(1, sizeof(*k));
	char name[256];
	u64 addr;
	FILE *f;

	if (!k)
		return NULL;
	f = fopen("/proc/kallsyms", "re");
	if (!f)
		return k;
	while (next_text(f, &addr, name)) {
		/* kernel.kptr_restrict shows every address as 0. */
		if (!addr || array_reserve(&k->v, &k->cap, k->n + 1, sizeof(*k->v)))
			break;
		k->v[k->n++] = (struct ksym){addr, k->names.len};
		wbuf_bytes(&k->names, name, strlen(name) + 1);
		if (k->names.err) {
			k->n--;
			break;
		}
	}
	fclose(f);
	/* Modules follow the kernel proper, each in an order of its own. */
	qsort(k->v, k->n, sizeof(*k->v), by_addr);
	return k;
}

const char *ksyms_name(struct ksyms **kp, u64 addr)
{
	struct ksyms *k;
	size_t lo = 0, hi;

	if (!*kp)
		*kp = ksyms_read();
	k = *kp;
	if (!k || (s64)addr >= 0)
		return NULL;
	hi = k->n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (k->v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? (const char *)k->names.data + k->v[lo - 1].name : NULL;
}

void ksyms_free(struct ksyms *k)
{
	if (!k)
		return;
	free(k->v);
	wbuf_free(&k->names);
	free(k);
}

void ksyms_syscall_entry(u64 *start, u64 *end)
{
	static const char entry[] = "entry_SYSCALL_64";
	char name[256];
	u64 addr;
	FILE *f;

	*start = *end = 0;
	f = fopen("/proc/kallsyms", "re");
	if (!f)
		return;
	while (next_text(f, &addr, name) && addr) {
		if (!strncmp(name, entry, strlen(entry))) {
			if (!*start)
				*start = addr;
		} else if (*start) {
			*end = addr;
			break;
		}
	}
	fclose(f);
	if (!*end)
		*start = 0;
}
