/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fake-target.h - a machine that is a function of time, behind gdbstub's
 * operations: at step i the registers are rax = i, rip = 0x1000 + i % 4; the
 * word at 0x2000 is i / 4 (instruction 3 of the loop counts it up).
 */
#ifndef TESTS_FAKE_TARGET_H
#define TESTS_FAKE_TARGET_H

#include <errno.h>

#include "gdbstub/codec.h"
#include "gdbstub/target.h"

#define FAKE_CODE   0x1000UL
#define FAKE_VAR    0x2000UL
#define FAKE_END    1000
#define FAKE_POINTS 64

struct fake {
	struct gdb_target target;
	u64 at;
	bool told_end;
	int n_points, last_id;
	struct fake_point {
		int id;
		struct gdb_point p;
	} points[FAKE_POINTS];
};

static size_t fake_threads(void *ctx, struct gdb_thread *v, size_t n)
{
	for (size_t i = 0; i < n && i < 2; i++)
		v[i] = (struct gdb_thread){1, 2 + i};
	return 2;
}

static void fake_present(void *ctx, struct gdb_thread *t)
{
	*t = (struct gdb_thread){1, 2};
}

static int fake_get_gprs(void *ctx, u32 tid, u64 gpr[GDB_GPRS])
{
	struct fake *f = ctx;

	memset(gpr, 0, GDB_GPRS * sizeof(*gpr));
	gpr[0] = f->at;
	gpr[GDB_RIP] = FAKE_CODE + f->at % 4;
	return 0;
}

static int fake_set_gprs(void *ctx, u32 tid, const u64 gpr[GDB_GPRS])
{
	return -EPERM;
}

static int fake_set_xsave(void *ctx, u32 tid, const void *buf, size_t len)
{
	return -EPERM;
}

static size_t fake_read(void *ctx, u64 addr, void *buf, size_t n)
{
	struct fake *f = ctx;
	u64 v = f->at / 4;

	if (addr < FAKE_CODE || addr >= FAKE_VAR + 8)
		return 0;
	n = MIN(n, (size_t)(FAKE_VAR + 8 - addr));
	for (size_t i = 0; i < n; i++)
		((u8 *)buf)[i] =
			addr + i < FAKE_VAR ? 0x90 : v >> 8 * (addr + i - FAKE_VAR);
	return n;
}

static int fake_write(void *ctx, u64 addr, const void *buf, size_t n)
{
	return -EPERM;
}

static int fake_insert(void *ctx, const struct gdb_point *p, int *id)
{
	struct fake *f = ctx;

	if (f->n_points == FAKE_POINTS)
		return -ENOSPC;
	*id = ++f->last_id;
	f->points[f->n_points++] = (struct fake_point){*id, *p};
	return 0;
}

static int fake_remove(void *ctx, int id)
{
	struct fake *f = ctx;

	for (int i = 0; i < f->n_points; i++) {
		if (f->points[i].id != id)
			continue;
		f->points[i] = f->points[--f->n_points];
		return 0;
	}
	return -ENOENT;
}

/* Does @p stop at the present? @wrote: the step that led here counted up. */
static bool fake_hits(struct fake *f, const struct gdb_point *p, bool wrote)
{
	if (p->type > GDB_POINT_HW)
		return wrote && p->type != GDB_POINT_READ && p->addr == FAKE_VAR;
	return p->addr == FAKE_CODE + f->at % 4 && (!p->cond || p->cond(p->arg));
}

static bool fake_stop_here(struct fake *f, bool wrote, struct gdb_stop *stop)
{
	for (int i = 0; i < f->n_points; i++) {
		const struct gdb_point *p = &f->points[i].p;

		if (!fake_hits(f, p, wrote))
			continue;
		stop->kind = p->type > GDB_POINT_HW ? GDB_STOP_WATCH : GDB_STOP_BREAK;
		stop->hw = p->type == GDB_POINT_HW;
		stop->watch = p->type;
		stop->addr = p->addr;
		return true;
	}
	return false;
}

static int fake_resume(void *ctx, const struct gdb_resume *r, struct gdb_stop *stop)
{
	struct fake *f = ctx;

	*stop = (struct gdb_stop){.kind = GDB_STOP_STEP, .pid = 1, .tid = 2};
	for (;;) {
		u64 ip, edge = r->backwards ? 0 : FAKE_END;

		if (f->at == edge) {
			stop->kind = r->backwards ? GDB_STOP_BEGIN : GDB_STOP_END;
			if (!r->backwards && f->told_end) {
				stop->kind = GDB_STOP_EXITED;
				stop->status = 3;
			}
			f->told_end = !r->backwards;
			return 0;
		}
		f->at += r->backwards ? -1 : 1;
		f->told_end = false;
		ip = FAKE_CODE + f->at % 4;
		if (r->step && !(ip >= r->range_start && ip < r->range_end))
			return 0;
		if (fake_stop_here(f, f->at % 4 == (r->backwards ? 3 : 0), stop))
			return 0;
	}
}

static int fake_restart(void *ctx, struct gdb_stop *stop)
{
	struct fake *f = ctx;

	f->at = 0;
	f->told_end = false;
	*stop = (struct gdb_stop){.pid = 1, .tid = 2};
	return 0;
}

static int fake_when(void *ctx, const char *args, struct wbuf *out)
{
	struct fake *f = ctx;

	put_fmt(out, "step %llu\n", (unsigned long long)f->at);
	return 0;
}

static const struct gdb_monitor fake_monitor[] = {
	{"when", "",   "the step", fake_when},
	{NULL,   NULL, NULL,	   NULL     },
};

static inline void fake_init(struct fake *f)
{
	*f = (struct fake){
		.target = {
			   .ctx = f,
			   .monitor = fake_monitor,
			   .threads = fake_threads,
			   .present = fake_present,
			   .get_gprs = fake_get_gprs,
			   .set_gprs = fake_set_gprs,
			   .set_xsave = fake_set_xsave,
			   .read = fake_read,
			   .write = fake_write,
			   .insert = fake_insert,
			   .remove = fake_remove,
			   .resume = fake_resume,
			   .restart = fake_restart,
			   }
	 };
}

#endif
