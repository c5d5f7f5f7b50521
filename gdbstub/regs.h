/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * regs.h - gdb's registers of x86-64 Linux in one table, from which the target
 * description, the g block and single registers are all made.
 */
#ifndef GDBSTUB_REGS_H
#define GDBSTUB_REGS_H

#include "gdbstub/target.h"

struct gdb_reg {
	const char *feature, *type, *group;
	char name[12];
	u16 bits;
	u8 place; /* how it is found, see regs.c */
	u32 offset;
};

#define GDB_MAX_REGS 160

struct reg_table {
	size_t n;
	struct gdb_reg v[GDB_MAX_REGS];
};

/* The registers that a CPU with @x has, in gdb's numbering. */
void reg_table_init(struct reg_table *t, const struct gdb_xsave *x);
/* The target description. */
void reg_table_xml(const struct reg_table *t, struct wbuf *out);

/* A thread's registers, raw. xsave_len 0: not had; shown as unavailable. */
struct reg_image {
	u64 gpr[GDB_GPRS];
	size_t xsave_len;
	u8 xsave[GDB_XSAVE_MAX];
};

#define GDB_REG_MAX 32 /* bytes */

/* Register @i's bytes into @out (GDB_REG_MAX of room). Returns how many bytes
 * it has; *@have is false if they are not to be had. */
size_t reg_get(const struct reg_table *t, size_t i, const struct reg_image *img, u8 *out,
	       bool *have);
/* Put it; selectors, which never change, are taken silently. */
void reg_put(const struct reg_table *t, size_t i, struct reg_image *img, const u8 *in);
static inline size_t reg_bytes(const struct reg_table *t, size_t i)
{
	return t->v[i].bits / 8;
}

/* Does register @i live in the XSAVE image? */
bool reg_in_xsave(const struct reg_table *t, size_t i);

#endif
