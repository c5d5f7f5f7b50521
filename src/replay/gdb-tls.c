/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gdb-tls.c - where a thread's copy of a thread-local variable lies.
 *
 * glibc describes its own structures for debuggers in constants named
 * _thread_db_STRUCT_FIELD: {bits of an element, elements, byte offset}.
 */
#include <errno.h>

#include "replay/gdb-host.h"

enum { SYM_MODID, SYM_TLS_OFFSET, SYM_DTVP, SYM_DTV, SYM_DTV_POINTER };

const char *const host_symbols[HOST_SYMBOLS + 1] = {
	[SYM_MODID] = "_thread_db_link_map_l_tls_modid",
	[SYM_TLS_OFFSET] = "_thread_db_link_map_l_tls_offset",
	[SYM_DTVP] = "_thread_db_pthread_dtvp",
	[SYM_DTV] = "_thread_db_dtv_dtv",
	[SYM_DTV_POINTER] = "_thread_db_dtv_t_pointer_val",
};

struct field {
	u32 bits, count, offset;
};

void host_symbol(void *ctx, size_t i, u64 addr)
{
	struct gdb_host *h = ctx;

	/* gdb asks anew when libraries come and not all of them have it. */
	if (i < HOST_SYMBOLS && addr)
		h->symbols[i] = addr;
}

static int read_field(struct gdb_host *h, int which, struct field *f)
{
	if (!h->symbols[which])
		return -ENODATA;
	return timeline_read(h->t, h->pid, h->symbols[which], f, sizeof(*f));
}

static int read_word(struct gdb_host *h, u64 addr, u64 *v)
{
	return timeline_read(h->t, h->pid, addr, v, sizeof(*v));
}

/* A program without dynamic linking has one module, number 1. */
static int module_id(struct gdb_host *h, u64 lm, u64 *id)
{
	struct field f;
	int r;

	*id = 1;
	if (!lm)
		return 0;
	r = read_field(h, SYM_MODID, &f);
	return r < 0 ? r : read_word(h, lm + f.offset, id);
}

int host_tls(void *ctx, u32 tid, u64 offset, u64 lm, u64 *addr)
{
	struct gdb_host *h = ctx;
	struct field dtvp, dtv, ptr, off;
	u64 id, table, block, tls_offset;
	struct regs regs;
	int r = timeline_regs(h->t, tid, &regs);

	if (!r)
		r = module_id(h, lm, &id);
	if (!r)
		r = read_field(h, SYM_DTVP, &dtvp);
	if (!r)
		r = read_field(h, SYM_DTV, &dtv);
	if (!r)
		r = read_field(h, SYM_DTV_POINTER, &ptr);
	if (!r)
		r = read_word(h, regs.r[X86_FS_BASE] + dtvp.offset, &table);
	if (!r)
		r = read_word(h, table + dtv.offset + id * (dtv.bits / 8) + ptr.offset,
			      &block);
	if (r < 0)
		return r;
	/* Not yet allocated (-1): static TLS still lies below the thread pointer. */
	if (block == ~0ULL || !block) {
		r = lm ? read_field(h, SYM_TLS_OFFSET, &off) : -ENODATA;
		if (!r)
			r = read_word(h, lm + off.offset, &tls_offset);
		if (r < 0 || (s64)tls_offset <= 0)
			return r < 0 ? r : -ENODATA;
		block = regs.r[X86_FS_BASE] - tls_offset;
	}
	*addr = block + offset;
	return 0;
}
