/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "trace/trace.h"

void maps_fini(struct maps *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->v[i].name);
	free(m->v);
	*m = (struct maps){0};
}

int maps_copy(struct maps *to, const struct maps *from)
{
	struct maps m = {0};
	int err = array_reserve(&m.v, &m.cap, from->n, sizeof(*m.v));

	for (size_t i = 0; i < from->n && !err; i++) {
		m.v[i] = from->v[i];
		m.v[i].name = strdup(from->v[i].name);
		if (!m.v[i].name)
			err = -ENOMEM;
		else
			m.n++;
	}
	if (err) {
		maps_fini(&m);
		return err;
	}
	*to = m;
	return 0;
}

/* Index of the first mapping that ends after @addr. */
static size_t first_after(const struct maps *m, u64 addr)
{
	size_t lo = 0, hi = m->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (m->v[mid].end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

const struct map *maps_find(const struct maps *m, u64 addr)
{
	size_t i = first_after(m, addr);

	return i < m->n && m->v[i].start <= addr ? &m->v[i] : NULL;
}

/* Takes @map's name over. */
static int insert(struct maps *m, size_t at, struct map map)
{
	int err =
		map.name ? array_reserve(&m->v, &m->cap, m->n + 1, sizeof(*m->v)) : -ENOMEM;

	if (err) {
		free(map.name);
		return err;
	}
	memmove(&m->v[at + 1], &m->v[at], (m->n - at) * sizeof(*m->v));
	m->v[at] = map;
	m->n++;
	return 0;
}

static bool has_offset(const struct map *map)
{
	return map->file || map->share;
}

/* Make @addr a border: split the mapping that spans it. */
static int split(struct maps *m, u64 addr)
{
	size_t i = first_after(m, addr);
	struct map high;
	int err;

	if (i == m->n || m->v[i].start >= addr)
		return 0;
	high = m->v[i];
	high.start = addr;
	if (has_offset(&high))
		high.offset += addr - m->v[i].start;
	high.name = strdup(m->v[i].name);
	err = insert(m, i + 1, high);
	if (!err)
		m->v[i].end = addr;
	return err;
}

static int cut(struct maps *m, u64 start, u64 end)
{
	size_t a, b;
	int err = split(m, start);

	if (!err)
		err = split(m, end);
	if (err)
		return err;
	a = first_after(m, start);
	b = a;
	while (b < m->n && m->v[b].start < end)
		free(m->v[b++].name);
	if (a == b)
		return 0;
	memmove(&m->v[a], &m->v[b], (m->n - b) * sizeof(*m->v));
	m->n -= b - a;
	return 0;
}

static bool joins(const struct map *a, const struct map *b)
{
	return a->end == b->start && a->prot == b->prot && a->flags == b->flags &&
	       a->file == b->file && a->share == b->share && !strcmp(a->name, b->name) &&
	       (!has_offset(a) || a->offset + (a->end - a->start) == b->offset);
}

/* Join neighbours around @addr that one line of /proc/PID/maps would show. */
static void join(struct maps *m, u64 addr)
{
	size_t i = first_after(m, addr);

	i = i ? i - 1 : 0;
	for (int n = 0; n < 3 && i + 1 < m->n; n++) {
		if (!joins(&m->v[i], &m->v[i + 1])) {
			i++;
			continue;
		}
		m->v[i].end = m->v[i + 1].end;
		free(m->v[i + 1].name);
		memmove(&m->v[i + 1], &m->v[i + 2], (m->n - i - 2) * sizeof(*m->v));
		m->n--;
	}
}

static int put(struct maps *m, struct map map)
{
	int err = cut(m, map.start, map.end);

	if (err) {
		free(map.name);
		return err;
	}
	err = insert(m, first_after(m, map.start), map);
	if (!err)
		join(m, map.start);
	return err;
}

static int apply_map(struct maps *m, const struct effect *e)
{
	return put(m, (struct map){.start = e->addr,
				   .end = PAGE_UP(e->addr + e->len),
				   .prot = e->map.prot,
				   .flags = e->map.flags,
				   .offset = e->map.offset,
				   .file = e->map.file,
				   .share = e->map.share,
				   .name = strdup(e->map.name ? e->map.name : "")});
}

static int apply_unmap(struct maps *m, const struct effect *e)
{
	return cut(m, e->addr, PAGE_UP(e->addr + e->len));
}

static int apply_protect(struct maps *m, const struct effect *e)
{
	u64 end = PAGE_UP(e->addr + e->len);
	int err = split(m, e->addr);

	if (!err)
		err = split(m, end);
	if (err)
		return err;
	for (size_t i = first_after(m, e->addr); i < m->n && m->v[i].start < end; i++)
		m->v[i].prot = e->protect.prot;
	return 0;
}

static int apply_remap(struct maps *m, const struct effect *e)
{
	const struct map *old = maps_find(m, e->remap.from);
	struct map map;
	int err;

	if (!old)
		return 0;
	map = *old;
	if (has_offset(&map))
		map.offset += e->remap.from - old->start;
	map.start = e->addr;
	map.end = PAGE_UP(e->addr + e->len);
	map.name = strdup(old->name);
	if (!map.name)
		return -ENOMEM;
	if (!(e->remap.flags & MREMAP_DONTUNMAP) && e->remap.from_len) {
		err = cut(m, e->remap.from, PAGE_UP(e->remap.from + e->remap.from_len));
		if (err) {
			free(map.name);
			return err;
		}
	}
	return put(m, map);
}

int maps_apply(struct maps *m, const struct effect *e)
{
	static int (*const apply[NR_EFFECT_KINDS])(struct maps *, const struct effect *) = {
		[EF_MAP] = apply_map,
		[EF_UNMAP] = apply_unmap,
		[EF_PROTECT] = apply_protect,
		[EF_REMAP] = apply_remap,
	};

	if (e->kind >= NR_EFFECT_KINDS || !apply[e->kind])
		return 0;
	if (e->addr + e->len < e->addr || !e->len)
		return 0;
	return apply[e->kind](m, e);
}
