/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * points.c - breakpoints and watchpoints with conditions.
 */
#include <errno.h>
#include <stdlib.h>

#include "gdbstub/agent.h"
#include "gdbstub/private.h"

struct cond_env {
	struct gdbstub *s;
	u32 tid;
	bool loaded, loaded_xsave;
};

static int cond_reg(void *ctx, unsigned n, u64 *value)
{
	struct cond_env *e = ctx;
	struct gdbstub *s = e->s;
	u8 raw[GDB_REG_MAX] = {0};
	bool have, xsave;
	int r;

	if (n >= s->regs.n || reg_bytes(&s->regs, n) > 8)
		return -EINVAL;
	xsave = reg_in_xsave(&s->regs, n);
	if (!e->loaded || (xsave && !e->loaded_xsave)) {
		r = state_load(s, e->tid, xsave);
		if (r < 0)
			return r;
		e->loaded = true;
		e->loaded_xsave = xsave;
	}
	reg_get(&s->regs, n, &s->img, raw, &have);
	memcpy(value, raw, 8);
	return have ? 0 : -ENODATA;
}

static int cond_read(void *ctx, u64 addr, void *buf, size_t n)
{
	struct cond_env *e = ctx;

	return e->s->t->read(e->s->t->ctx, addr, buf, n) == n ? 0 : -EFAULT;
}

/* Any condition that holds stops. So does one that cannot be told: gdb then
 * evaluates it again and says why it cannot. */
static bool point_holds(void *arg)
{
	struct zpoint *z = arg;
	struct gdbstub *s = z->stub;
	struct cond_env e = {.s = s};
	struct agent_env env = {&e, cond_reg, cond_read};
	struct gdb_thread t = {0};

	s->t->present(s->t->ctx, &t);
	e.tid = t.tid;
	for (size_t i = 0; i < z->n_conds; i++) {
		u64 v = 0;

		if (agent_eval(z->code.data + z->conds[i].start, z->conds[i].len, &env,
			       &v) < 0 ||
		    v)
			return true;
	}
	return false;
}

static void zpoint_free(struct zpoint *z)
{
	wbuf_free(&z->code);
	free(z->conds);
	free(z);
}

/* ";X len,code X len,code": the blanks between them may be missing. */
static int zpoint_conditions(struct zpoint *z, struct scan in)
{
	size_t cap = 0;

	if (!scan_left(&in))
		return 0;
	if (!scan_char(&in, ';'))
		return -EINVAL;
	while (scan_left(&in)) {
		struct scan code;
		size_t start = z->code.len;
		u64 len;

		if (!scan_char(&in, 'X') || !scan_hex(&in, &len) || !scan_char(&in, ',') ||
		    len > scan_left(&in) / 2)
			return -EINVAL;
		code = (struct scan){in.p, in.p + 2 * len};
		if (!scan_bytes(&code, &z->code) || z->code.len - start != len)
			return -EINVAL;
		in.p += 2 * len;
		if (array_reserve(&z->conds, &cap, z->n_conds + 1, sizeof(*z->conds)))
			return -ENOMEM;
		z->conds[z->n_conds++] = (struct zcond){start, len};
		while (scan_char(&in, ' ') || scan_char(&in, ';'))
			;
	}
	return 0;
}

static struct zpoint **zpoint_find(struct gdbstub *s, enum gdb_point_type type, u64 addr,
				   u32 len)
{
	struct zpoint **p = &s->cl.points;

	while (*p && ((*p)->p.type != type || (*p)->p.addr != addr || (*p)->p.len != len))
		p = &(*p)->next;
	return p;
}

static int zpoint_drop(struct gdbstub *s, struct zpoint **at)
{
	struct zpoint *z = *at;
	int r = s->t->remove(s->t->ctx, z->id);

	*at = z->next;
	zpoint_free(z);
	return r;
}

void points_clear(struct gdbstub *s)
{
	while (s->cl.points)
		if (zpoint_drop(s, &s->cl.points) < 0)
			continue;
}

static int point_args(struct gdbstub *s, const struct args *a)
{
	if (!s->t->insert || !s->t->remove || a->c < '0' ||
	    a->c >= '0' + NR_GDB_POINT_TYPES)
		return -ENOSYS;
	if (a->n[1] > 1 << 20)
		return -EINVAL;
	return 0;
}

int pk_insert(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct zpoint **old, *z;
	int r = point_args(s, a);

	if (r < 0)
		return r;
	z = calloc(1, sizeof(*z));
	if (!z)
		return -ENOMEM;
	z->stub = s;
	z->p = (struct gdb_point){.type = a->c - '0', .addr = a->n[0], .len = a->n[1]};
	r = zpoint_conditions(z, a->rest);
	if (r < 0)
		goto fail;
	if (z->n_conds) {
		z->p.cond = point_holds;
		z->p.arg = z;
	}
	/* gdb sends the packet again when only the conditions have changed. */
	old = zpoint_find(s, z->p.type, z->p.addr, z->p.len);
	if (*old) {
		r = zpoint_drop(s, old);
		if (r < 0)
			goto fail;
	}
	r = s->t->insert(s->t->ctx, &z->p, &z->id);
	if (r < 0)
		goto fail;
	z->next = s->cl.points;
	s->cl.points = z;
	put_ok(out);
	return 0;
fail:
	zpoint_free(z);
	return r;
}

int pk_remove(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct zpoint **at;
	int r = point_args(s, a);

	if (r < 0)
		return r;
	at = zpoint_find(s, a->c - '0', a->n[0], a->n[1]);
	if (*at) {
		r = zpoint_drop(s, at);
		if (r < 0)
			return r;
	}
	put_ok(out);
	return 0;
}
