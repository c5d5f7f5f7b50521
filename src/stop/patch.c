/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>

#include "stop/internal.h"

static bool touches(const struct patch *p, u64 addr, size_t n)
{
	return p->addr < addr + n && addr < p->addr + p->len;
}

int patch_add(struct stops *s, u64 addr, const u8 *now, u8 len)
{
	struct patch *p = &s->patches[s->n_patches];
	int err;

	if (s->n_patches == ARRAY_SIZE(s->patches))
		return -ENOSPC;
	*p = (struct patch){.addr = addr, .len = len, .in = true};
	memcpy(p->now, now, len);
	err = tracee_read(s->tid, addr, p->orig, len);
	if (!err)
		err = tracee_write(s->tid, addr, now, len);
	if (!err)
		s->n_patches++;
	return err;
}

int patch_lift(struct stops *s, u64 addr, size_t n)
{
	for (u32 i = 0; i < s->n_patches; i++) {
		struct patch *p = &s->patches[i];
		int err;

		if (!p->in || !touches(p, addr, n))
			continue;
		err = tracee_write(s->tid, p->addr, p->orig, p->len);
		if (err)
			return err;
		p->in = false;
	}
	return 0;
}

int patch_lower(struct stops *s)
{
	for (u32 i = 0; i < s->n_patches; i++) {
		struct patch *p = &s->patches[i];
		int err;

		if (p->in)
			continue;
		err = tracee_write(s->tid, p->addr, p->now, p->len);
		if (err)
			return err;
		p->in = true;
	}
	return 0;
}

void patch_forget(struct stops *s)
{
	s->n_patches = 0;
}

bool patch_starts(const struct stops *s, u64 addr)
{
	for (u32 i = 0; i < s->n_patches; i++)
		if (s->patches[i].in && s->patches[i].addr == addr)
			return true;
	return false;
}

void patch_hide(const struct stops *s, u64 addr, u8 *buf, size_t n)
{
	for (u32 i = 0; i < s->n_patches; i++) {
		const struct patch *p = &s->patches[i];

		if (!p->in || !touches(p, addr, n))
			continue;
		for (u32 k = 0; k < p->len; k++)
			if (p->addr + k >= addr && p->addr + k < addr + n)
				buf[p->addr + k - addr] = p->orig[k];
	}
}
