/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * state.c - registers, memory and threads.
 */
#include <errno.h>
#include <stdlib.h>

#include "gdbstub/private.h"

/* ---- registers ---- */

int state_load(struct gdbstub *s, u32 tid, bool xsave)
{
	size_t len = sizeof(s->img.xsave);
	int r;

	if (!tid)
		return -ESRCH;
	r = s->t->get_gprs(s->t->ctx, tid, s->img.gpr);
	if (r < 0)
		return r;
	if (!xsave)
		return 0;
	s->img.xsave_len = 0;
	if (!s->t->get_xsave || !s->t->xsave.xcr0)
		return 0;
	r = s->t->get_xsave(s->t->ctx, tid, s->img.xsave, &len);
	if (!r)
		s->img.xsave_len = len;
	return r == -ENODATA ? 0 : r;
}

static void put_reg(struct gdbstub *s, size_t i, struct wbuf *out)
{
	u8 raw[GDB_REG_MAX];
	bool have;
	size_t n = reg_get(&s->regs, i, &s->img, raw, &have);

	if (have)
		put_hex(out, raw, n);
	else
		for (size_t k = 0; k < 2 * n; k++)
			put_str(out, "x");
}

int pk_get_regs(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	int r = state_load(s, stub_thread(s), true);

	if (r < 0)
		return r;
	for (size_t i = 0; i < s->regs.n; i++)
		put_reg(s, i, out);
	return 0;
}

int pk_get_reg(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	int r;

	if (a->n[0] >= s->regs.n)
		return -EINVAL;
	r = state_load(s, stub_thread(s), reg_in_xsave(&s->regs, a->n[0]));
	if (r < 0)
		return r;
	put_reg(s, a->n[0], out);
	return 0;
}

/*
 * gdb gives back all registers when only one has changed: those that are as
 * they were are left alone, and only the parts that did change are stored.
 */
static void change_reg(struct gdbstub *s, size_t i, const u8 *in, bool *gpr, bool *xsave)
{
	u8 was[GDB_REG_MAX];
	bool have;
	size_t n = reg_get(&s->regs, i, &s->img, was, &have);

	if (!have || !memcmp(was, in, n))
		return;
	reg_put(&s->regs, i, &s->img, in);
	if (reg_in_xsave(&s->regs, i))
		*xsave = true;
	else
		*gpr = true;
}

static int store_regs(struct gdbstub *s, u32 tid, bool gpr, bool xsave)
{
	int r = 0;

	if (gpr)
		r = s->t->set_gprs(s->t->ctx, tid, s->img.gpr);
	if (!r && xsave)
		r = s->t->set_xsave(s->t->ctx, tid, s->img.xsave, s->img.xsave_len);
	return r;
}

int pk_set_regs(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	u32 tid = stub_thread(s);
	bool gpr = false, xsave = false;
	size_t at = 0;
	int r;

	if (!s->t->set_gprs || !s->t->set_xsave)
		return -ENOSYS;
	r = state_load(s, tid, true);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->regs.n; i++) {
		size_t n = reg_bytes(&s->regs, i);

		if (a->bytes.len - at < n)
			return -EINVAL;
		change_reg(s, i, a->bytes.data + at, &gpr, &xsave);
		at += n;
	}
	if (at != a->bytes.len)
		return -EINVAL;
	r = store_regs(s, tid, gpr, xsave);
	if (r < 0)
		return r;
	put_ok(out);
	return 0;
}

int pk_set_reg(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	u32 tid = stub_thread(s);
	bool gpr = false, xsave = false;
	int r;

	if (!s->t->set_gprs || !s->t->set_xsave)
		return -ENOSYS;
	if (a->n[0] >= s->regs.n || a->bytes.len != reg_bytes(&s->regs, a->n[0]))
		return -EINVAL;
	r = state_load(s, tid, true);
	if (r < 0)
		return r;
	change_reg(s, a->n[0], a->bytes.data, &gpr, &xsave);
	r = store_regs(s, tid, gpr, xsave);
	if (r < 0)
		return r;
	put_ok(out);
	return 0;
}

/* ---- memory ---- */

#define READ_MAX ((GDB_PACKET_MAX - 16) / 2)

static int read_memory(struct gdbstub *s, struct args *a, u8 **buf, size_t *got)
{
	size_t n = MIN(a->n[1], (u64)READ_MAX);

	if (!stub_alive(s))
		return -ESRCH;
	*buf = malloc(n + 1);
	if (!*buf)
		return -ENOMEM;
	*got = s->t->read(s->t->ctx, a->n[0], *buf, n);
	if (!*got && n) {
		free(*buf);
		return -EFAULT;
	}
	return 0;
}

int pk_read(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	size_t got;
	u8 *buf;
	int r = read_memory(s, a, &buf, &got);

	if (r < 0)
		return r;
	put_hex(out, buf, got);
	free(buf);
	return 0;
}

int pk_read_binary(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	size_t got;
	u8 *buf;
	int r = read_memory(s, a, &buf, &got);

	if (r < 0)
		return r;
	put_str(out, "b");
	wbuf_bytes(out, buf, got);
	free(buf);
	return 0;
}

/* M and X: the bytes came as hex or as they are. */
int pk_write(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	const u8 *p = a->rest.p ? a->rest.p : a->bytes.data;
	size_t n = a->rest.p ? scan_left(&a->rest) : a->bytes.len;
	int r;

	if (!s->t->write)
		return -ENOSYS;
	if (n != a->n[1])
		return -EINVAL;
	if (!stub_alive(s))
		return -ESRCH;
	/* gdb asks with no bytes whether X is known at all. */
	r = n ? s->t->write(s->t->ctx, a->n[0], p, n) : 0;
	if (r < 0)
		return r;
	put_ok(out);
	return 0;
}

#define SEARCH_CHUNK 65536

int pk_search(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	size_t want = scan_left(&a->rest), keep = 0;
	u64 addr = a->n[0], left = a->n[1];
	u8 *buf, *hit = NULL;

	if (!want || want > SEARCH_CHUNK / 2)
		return -EINVAL;
	if (!stub_alive(s))
		return -ESRCH;
	buf = malloc(SEARCH_CHUNK);
	if (!buf)
		return -ENOMEM;
	while (left) {
		size_t n = MIN(left, (u64)(SEARCH_CHUNK - keep));
		size_t got = s->t->read(s->t->ctx, addr, buf + keep, n);
		size_t have = keep + got;

		hit = memmem(buf, have, a->rest.p, want);
		if (hit)
			put_fmt(out, "1,%llx",
				(unsigned long long)(addr - keep + (hit - buf)));
		if (hit || got < n)
			break;
		addr += got;
		left -= got;
		keep = MIN(want - 1, have);
		memmove(buf, buf + have - keep, keep);
	}
	free(buf);
	if (!hit)
		put_str(out, "0");
	return 0;
}

/* ---- threads ---- */

struct gdb_thread *state_threads(struct gdbstub *s, size_t *n)
{
	struct gdb_thread *v;
	size_t room;

	*n = 0;
	if (!stub_alive(s))
		return NULL;
	room = s->t->threads(s->t->ctx, NULL, 0);
	v = calloc(room + 1, sizeof(*v));
	if (v)
		*n = MIN(room, s->t->threads(s->t->ctx, v, room));
	return v;
}

static bool thread_exists(struct gdbstub *s, const struct gdb_tid *t)
{
	size_t n;
	struct gdb_thread *v = state_threads(s, &n);
	bool found = false;

	for (size_t i = 0; i < n && !found; i++)
		found = (t->tid <= 0 || t->tid == v[i].tid) &&
			(t->pid <= 0 || t->pid == v[i].pid);
	free(v);
	return found;
}

int pk_set_thread(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	if (a->c != 'g' && a->c != 'c')
		return -EINVAL;
	/* With no process there are no threads, and gdb still sets "any". */
	if ((a->tid.tid > 0 || a->tid.pid > 0) && !thread_exists(s, &a->tid))
		return -ESRCH;
	if (a->c == 'g')
		s->cl.g = a->tid;
	else
		s->cl.c = a->tid;
	put_ok(out);
	return 0;
}

int pk_thread_alive(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	if (!thread_exists(s, &a->tid))
		return -ESRCH;
	put_ok(out);
	return 0;
}

int pk_present(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	struct gdb_thread t = {0};

	if (!stub_alive(s))
		return -ESRCH;
	s->t->present(s->t->ctx, &t);
	put_str(out, "QC");
	put_tid(out, s->cl.multi, t.pid, t.tid);
	return 0;
}

int pk_threads_first(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	size_t n;
	struct gdb_thread *v = state_threads(s, &n);

	for (size_t i = 0; i < n; i++) {
		put_str(out, i ? "," : "m");
		put_tid(out, s->cl.multi, v[i].pid, v[i].tid);
	}
	if (!n)
		put_str(out, "l");
	free(v);
	return 0;
}

int pk_threads_next(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	put_str(out, "l");
	return 0;
}

int pk_thread_info(struct gdbstub *s, struct args *a, struct wbuf *out)
{
	char name[64];
	int r;

	if (!s->t->thread_name)
		return -ENOSYS;
	if (a->tid.tid <= 0 || !thread_exists(s, &a->tid))
		return -ESRCH;
	r = s->t->thread_name(s->t->ctx, a->tid.tid, name, sizeof(name));
	if (r < 0)
		return r;
	put_hex(out, name, strlen(name));
	return 0;
}
