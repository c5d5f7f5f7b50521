/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * codec.c - the bytes of a trace folder (version 1). Little endian; "var" is
 * LEB128; a string is var length, bytes, NUL.
 *
 *   meta           "PLAYHEAD", u32 version, u32 length, meta record, u64 XXH3
 *   events         blocks of event records
 *   events.tail    the block under construction, uncompressed (stream.h)
 *   samples, samples.tail   the same for samples
 *   tables         framed records: files kept, kernel symbols
 *   files/N        the files kept
 *   end            a framed end record; there if the recorder closed the trace
 *
 * A block is a 40 byte header {u32 magic "PHB1", raw length, packed length,
 * count, u64 first record number, u64 XXH3 of the packed bytes, u64 XXH3 of
 * the 32 bytes before} and one zstd frame. Unpacked it holds `count` frames
 * {u32 length, u32 low half of XXH3, record}. Every block decodes by itself:
 * no record refers to an earlier one.
 *
 * Event: u8 type, u8 where, u8 bits, var time, tid, pid, 168 bytes registers,
 * then what bits names: registers after (u32 mask, changed ones), xstate (var
 * length, bytes), siginfo (128 bytes), point, exec (exe, auxv), what, status;
 * then var count of effects, each u8 kind, var addr, var len, its own fields.
 *
 * What is cut or damaged is found by its check: a reader takes the blocks up to
 * the first header that is not whole, and a tail only if it goes on where the
 * blocks end. Space for the tails and for the end record is allocated when the
 * trace is made, so that a full disk takes neither.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/codec.h"

enum {
	BIT_AFTER = 1,
	BIT_XSTATE = 2,
	BIT_SIGINFO = 4,
	BIT_FATAL = 8,
	BIT_POINT = 16,
	BIT_EXEC = 32,
	BIT_WHAT = 64,
	BIT_STATUS = 128,
};

/* ---- small things ---- */

static void put_str(struct wbuf *b, const char *s)
{
	wbuf_str(b, s);
	wbuf_u8(b, 0);
}

static const char *get_str(struct rbuf *r)
{
	size_t n;
	const char *s = rbuf_str(r, &n);

	if (rbuf_u8(r) != 0 || r->err || memchr(s, 0, n)) {
		r->err = -EBADMSG;
		return "";
	}
	return s;
}

static void put_regs(struct wbuf *b, const struct regs *regs)
{
	wbuf_bytes(b, regs->r, sizeof(regs->r));
}

static void get_regs(struct rbuf *r, struct regs *regs)
{
	rbuf_bytes(r, regs->r, sizeof(regs->r));
}

static void put_after(struct wbuf *b, const struct regs *from, const struct regs *to)
{
	u32 mask = 0;

	for (int i = 0; i < NR_REGS; i++)
		if (from->r[i] != to->r[i])
			mask |= 1U << i;
	wbuf_u32(b, mask);
	for (int i = 0; i < NR_REGS; i++)
		if (mask & (1U << i))
			wbuf_u64(b, to->r[i]);
}

static void get_after(struct rbuf *r, const struct regs *from, struct regs *to)
{
	u32 mask = rbuf_u32(r);

	if (mask >> NR_REGS)
		r->err = -EBADMSG;
	*to = *from;
	for (int i = 0; i < NR_REGS; i++)
		if (mask & (1U << i))
			to->r[i] = rbuf_u64(r);
}

/* A count whose elements take at least @size bytes each of what is left. */
static u64 get_count(struct rbuf *r, size_t size)
{
	u64 n = rbuf_var(r);

	if (n > rbuf_left(r) / size) {
		r->err = -EBADMSG;
		return 0;
	}
	return n;
}

static void put_point(struct wbuf *b, const struct point *p)
{
	wbuf_var(b, p->event);
	wbuf_var(b, p->tid);
	put_regs(b, &p->regs);
	wbuf_bytes(b, &p->print, sizeof(p->print));
	wbuf_var(b, p->ticks);
	wbuf_var(b, p->n_words);
	wbuf_bytes(b, p->words, p->n_words * sizeof(p->words[0]));
	wbuf_var(b, p->n_pages);
	wbuf_bytes(b, p->pages, p->n_pages * sizeof(p->pages[0]));
}

/* @st NULL: a point that may not have pages. */
static void get_point(struct rbuf *r, struct point *p, struct event_store *st)
{
	p->event = rbuf_var(r);
	p->tid = rbuf_var(r);
	get_regs(r, &p->regs);
	rbuf_bytes(r, &p->print, sizeof(p->print));
	p->ticks = rbuf_var(r);
	p->n_words = get_count(r, sizeof(p->words[0]));
	if (p->n_words > POINT_MAX_WORDS) {
		r->err = -EBADMSG;
		p->n_words = 0;
	}
	rbuf_bytes(r, p->words, p->n_words * sizeof(p->words[0]));
	p->n_pages = get_count(r, sizeof(p->pages[0]));
	p->pages = NULL;
	if (!p->n_pages)
		return;
	if (!st) {
		r->err = -EBADMSG;
		p->n_pages = 0;
		return;
	}
	r->err = array_reserve(&st->pages, &st->cap_pages, p->n_pages, sizeof(*st->pages));
	if (!r->err) {
		rbuf_bytes(r, st->pages, p->n_pages * sizeof(*st->pages));
		p->pages = st->pages;
	}
}

/* ---- effects: a row a kind ---- */

static void put_mem(struct wbuf *b, const struct effect *e)
{
	wbuf_bytes(b, e->mem.data, e->len);
}

static void get_mem(struct rbuf *r, struct effect *e, struct event_store *st, u32 *forks)
{
	e->mem.data = rbuf_take(r, e->len);
}

static void put_map(struct wbuf *b, const struct effect *e)
{
	wbuf_var(b, e->map.prot);
	wbuf_var(b, e->map.flags);
	wbuf_var(b, e->map.offset);
	wbuf_var(b, e->map.file);
	wbuf_var(b, e->map.share);
	put_str(b, e->map.name);
}

static void get_map(struct rbuf *r, struct effect *e, struct event_store *st, u32 *forks)
{
	e->map.prot = rbuf_var(r);
	e->map.flags = rbuf_var(r);
	e->map.offset = rbuf_var(r);
	e->map.file = rbuf_var(r);
	e->map.share = rbuf_var(r);
	e->map.name = get_str(r);
}

static void put_none(struct wbuf *b, const struct effect *e)
{
}

static void get_none(struct rbuf *r, struct effect *e, struct event_store *st, u32 *forks)
{
}

static void put_protect(struct wbuf *b, const struct effect *e)
{
	wbuf_var(b, e->protect.prot);
}

static void get_protect(struct rbuf *r, struct effect *e, struct event_store *st,
			u32 *forks)
{
	e->protect.prot = rbuf_var(r);
}

static void put_remap(struct wbuf *b, const struct effect *e)
{
	wbuf_var(b, e->remap.from);
	wbuf_var(b, e->remap.from_len);
	wbuf_var(b, e->remap.flags);
}

static void get_remap(struct rbuf *r, struct effect *e, struct event_store *st, u32 *forks)
{
	e->remap.from = rbuf_var(r);
	e->remap.from_len = rbuf_var(r);
	e->remap.flags = rbuf_var(r);
}

static void put_fork(struct wbuf *b, const struct effect *e)
{
	wbuf_var(b, e->fork.tid);
	wbuf_var(b, e->fork.pid);
	wbuf_u8(b, e->fork.share);
	put_regs(b, e->fork.regs);
}

static void get_fork(struct rbuf *r, struct effect *e, struct event_store *st, u32 *forks)
{
	e->fork.tid = rbuf_var(r);
	e->fork.pid = rbuf_var(r);
	e->fork.share = rbuf_u8(r);
	if (*forks >= STORE_MAX_FORKS) {
		r->err = -EBADMSG;
		return;
	}
	e->fork.regs = &st->forks[*forks];
	get_regs(r, &st->forks[(*forks)++]);
}

static void put_output(struct wbuf *b, const struct effect *e)
{
	wbuf_var(b, e->output.fd);
}

static void get_output(struct rbuf *r, struct effect *e, struct event_store *st, u32 *forks)
{
	e->output.fd = rbuf_var(r);
}

static const struct {
	void (*put)(struct wbuf *b, const struct effect *e);
	void (*get)(struct rbuf *r, struct effect *e, struct event_store *st, u32 *forks);
} effect_codecs[NR_EFFECT_KINDS] = {
	[EF_MEM] = {put_mem,     get_mem    },
	     [EF_MAP] = {put_map,	  get_map	 },
	[EF_UNMAP] = {put_none,	get_none	},
	     [EF_PROTECT] = {put_protect, get_protect},
	[EF_REMAP] = {put_remap,	 get_remap  },
	     [EF_DISCARD] = {put_none,    get_none   },
	[EF_FORK] = {put_fork,    get_fork   },
	     [EF_OUTPUT] = {put_output,	get_output },
};

static void get_effect(struct rbuf *r, struct effect *e, struct event_store *st, u32 *forks)
{
	memset(e, 0, sizeof(*e));
	e->kind = rbuf_u8(r);
	e->addr = rbuf_var(r);
	e->len = rbuf_var(r);
	if (e->kind >= NR_EFFECT_KINDS || !effect_codecs[e->kind].get)
		r->err = -EBADMSG;
	else
		effect_codecs[e->kind].get(r, e, st, forks);
}

/* ---- events ---- */

void event_store_fini(struct event_store *st)
{
	free(st->effects);
	free(st->pages);
	*st = (struct event_store){0};
}

static bool has_point(u8 type, u8 where)
{
	return type == EV_SCHED || (type == EV_SIGNAL && where == WHERE_POINT);
}

static u8 event_bits(const struct event *ev)
{
	return (ev->has_after ? BIT_AFTER : 0) | (ev->xstate_len ? BIT_XSTATE : 0) |
	       (ev->siginfo ? BIT_SIGINFO : 0) | (ev->fatal ? BIT_FATAL : 0) |
	       (has_point(ev->type, ev->where) ? BIT_POINT : 0) |
	       (ev->type == EV_EXEC ? BIT_EXEC : 0) |
	       (ev->what && *ev->what ? BIT_WHAT : 0) |
	       (ev->type == EV_EXIT ? BIT_STATUS : 0);
}

static int put_effects(struct wbuf *b, const struct event *ev)
{
	u32 forks = 0;

	wbuf_var(b, ev->n_effects);
	for (u32 i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];

		if (e->kind >= NR_EFFECT_KINDS || !effect_codecs[e->kind].put)
			return -EINVAL;
		if (e->kind == EF_FORK && ++forks > STORE_MAX_FORKS)
			return -E2BIG;
		wbuf_u8(b, e->kind);
		wbuf_var(b, e->addr);
		wbuf_var(b, e->len);
		effect_codecs[e->kind].put(b, e);
	}
	return b->err;
}

int event_encode(struct wbuf *b, const struct event *ev)
{
	u8 bits = event_bits(ev);

	wbuf_u8(b, ev->type);
	wbuf_u8(b, ev->where);
	wbuf_u8(b, bits);
	wbuf_var(b, ev->time_ns);
	wbuf_var(b, ev->tid);
	wbuf_var(b, ev->pid);
	put_regs(b, &ev->regs);
	if (bits & BIT_AFTER)
		put_after(b, &ev->regs, &ev->regs_after);
	if (bits & BIT_XSTATE) {
		wbuf_var(b, ev->xstate_len);
		wbuf_bytes(b, ev->xstate, ev->xstate_len);
	}
	if (bits & BIT_SIGINFO)
		wbuf_bytes(b, ev->siginfo, sizeof(*ev->siginfo));
	if (bits & BIT_POINT)
		put_point(b, &ev->point);
	if (bits & BIT_EXEC) {
		put_str(b, ev->exe);
		wbuf_var(b, ev->auxv_len);
		wbuf_bytes(b, ev->auxv, ev->auxv_len);
	}
	if (bits & BIT_WHAT)
		put_str(b, ev->what);
	if (bits & BIT_STATUS)
		wbuf_u32(b, ev->status);
	return put_effects(b, ev);
}

static void get_parts(struct rbuf *r, struct event *ev, u8 bits, struct event_store *st)
{
	ev->has_after = bits & BIT_AFTER;
	if (bits & BIT_AFTER)
		get_after(r, &ev->regs, &ev->regs_after);
	if (bits & BIT_XSTATE) {
		ev->xstate_len = get_count(r, 1);
		ev->xstate = rbuf_take(r, ev->xstate_len);
	}
	if (bits & BIT_SIGINFO) {
		rbuf_bytes(r, &st->siginfo, sizeof(st->siginfo));
		ev->siginfo = &st->siginfo;
	}
	ev->fatal = bits & BIT_FATAL;
	if (bits & BIT_POINT)
		get_point(r, &ev->point, st);
	ev->exe = "";
	if (bits & BIT_EXEC) {
		ev->exe = get_str(r);
		ev->auxv_len = get_count(r, 1);
		ev->auxv = rbuf_take(r, ev->auxv_len);
	}
	ev->what = bits & BIT_WHAT ? get_str(r) : "";
	if (bits & BIT_STATUS)
		ev->status = rbuf_u32(r);
}

int event_decode(const void *p, size_t n, struct event *ev, struct event_store *st)
{
	struct rbuf r = rbuf_of(p, n);
	u64 number = ev->number;
	u32 forks = 0;
	u8 bits;

	*ev = (struct event){.number = number};
	ev->type = rbuf_u8(&r);
	ev->where = rbuf_u8(&r);
	bits = rbuf_u8(&r);
	ev->time_ns = rbuf_var(&r);
	ev->tid = rbuf_var(&r);
	ev->pid = rbuf_var(&r);
	get_regs(&r, &ev->regs);
	if (!ev->type || ev->type >= NR_EVENT_TYPES || ev->where > WHERE_POINT ||
	    !(bits & BIT_POINT) != !has_point(ev->type, ev->where))
		return -EBADMSG;
	get_parts(&r, ev, bits, st);
	ev->n_effects = get_count(&r, 3);
	if (r.err)
		return r.err;
	r.err = array_reserve(&st->effects, &st->cap_effects, ev->n_effects,
			      sizeof(*st->effects));
	for (u32 i = 0; i < ev->n_effects && !r.err; i++)
		get_effect(&r, &st->effects[i], st, &forks);
	ev->effects = st->effects;
	if (!r.err && rbuf_left(&r))
		return -EBADMSG;
	return r.err;
}

/* ---- samples ---- */

int sample_encode(struct wbuf *b, const struct sample *s)
{
	wbuf_var(b, s->time_ns);
	wbuf_var(b, s->tid);
	wbuf_var(b, s->pid);
	wbuf_u8(b, s->kind);
	wbuf_var(b, s->weight);
	put_point(b, &s->point);
	wbuf_var(b, s->n_kernel);
	wbuf_bytes(b, s->kernel, s->n_kernel * sizeof(s->kernel[0]));
	return b->err;
}

int sample_decode(const void *p, size_t n, struct sample *s)
{
	struct rbuf r = rbuf_of(p, n);

	s->time_ns = rbuf_var(&r);
	s->tid = rbuf_var(&r);
	s->pid = rbuf_var(&r);
	s->kind = rbuf_u8(&r);
	s->weight = rbuf_var(&r);
	get_point(&r, &s->point, NULL);
	s->n_kernel = get_count(&r, sizeof(s->kernel[0]));
	if (r.err || s->n_kernel > SAMPLE_MAX_KERNEL || s->kind < SAMPLE_USER ||
	    s->kind > SAMPLE_BLOCKED)
		return r.err ? r.err : -EBADMSG;
	rbuf_bytes(&r, s->kernel, s->n_kernel * sizeof(s->kernel[0]));
	if (!r.err && rbuf_left(&r))
		return -EBADMSG;
	return r.err;
}

/* ---- meta, end, tables ---- */

int meta_encode(struct wbuf *b, const struct trace_meta *m)
{
	wbuf_u64(b, m->start_time_ns);
	wbuf_u32(b, m->sample_hz);
	wbuf_u8(b, m->sampler);
	wbuf_u8(b, m->sample_event);
	wbuf_u64(b, m->xcr0);
	wbuf_u32(b, m->xstate_size);
	put_str(b, m->sampler_why);
	put_str(b, m->program);
	put_str(b, m->args);
	put_str(b, m->cwd);
	put_str(b, m->host);
	put_str(b, m->kernel);
	put_str(b, m->cpu);
	return b->err;
}

int meta_decode(const void *p, size_t n, struct trace_meta *m)
{
	struct rbuf r = rbuf_of(p, n);

	m->version = TRACE_VERSION;
	m->start_time_ns = rbuf_u64(&r);
	m->sample_hz = rbuf_u32(&r);
	m->sampler = rbuf_u8(&r);
	m->sample_event = rbuf_u8(&r);
	m->xcr0 = rbuf_u64(&r);
	m->xstate_size = rbuf_u32(&r);
	m->sampler_why = get_str(&r);
	m->program = get_str(&r);
	m->args = get_str(&r);
	m->cwd = get_str(&r);
	m->host = get_str(&r);
	m->kernel = get_str(&r);
	m->cpu = get_str(&r);
	if (!r.err && m->sampler > SAMPLER_TIMER)
		return -EBADMSG;
	return r.err;
}

int end_encode(struct wbuf *b, const struct trace_end *e)
{
	wbuf_u8(b, e->clean);
	wbuf_u32(b, e->status);
	wbuf_u64(b, e->events);
	wbuf_u64(b, e->samples);
	wbuf_u64(b, e->lost);
	wbuf_u64(b, e->time_ns);
	put_str(b, e->why);
	return b->err;
}

int end_decode(const void *p, size_t n, struct trace_end *e)
{
	struct rbuf r = rbuf_of(p, n);

	e->clean = rbuf_u8(&r);
	e->status = rbuf_u32(&r);
	e->events = rbuf_u64(&r);
	e->samples = rbuf_u64(&r);
	e->lost = rbuf_u64(&r);
	e->time_ns = rbuf_u64(&r);
	e->why = get_str(&r);
	return r.err;
}

int table_encode_file(struct wbuf *b, const struct trace_file *f)
{
	wbuf_u8(b, TABLE_FILE);
	wbuf_u32(b, f->id);
	wbuf_u32(b, f->mode);
	wbuf_u64(b, f->size);
	wbuf_u64(b, f->dev);
	wbuf_u64(b, f->ino);
	put_str(b, f->name);
	put_str(b, f->kept);
	return b->err;
}

int table_encode_ksym(struct wbuf *b, u64 addr, const char *name)
{
	wbuf_u8(b, TABLE_KSYM);
	wbuf_u64(b, addr);
	put_str(b, name);
	return b->err;
}

int table_decode(const void *p, size_t n, int *kind, struct trace_file *f, u64 *addr,
		 const char **name)
{
	struct rbuf r = rbuf_of(p, n);

	*kind = rbuf_u8(&r);
	switch (*kind) {
	case TABLE_FILE:
		f->id = rbuf_u32(&r);
		f->mode = rbuf_u32(&r);
		f->size = rbuf_u64(&r);
		f->dev = rbuf_u64(&r);
		f->ino = rbuf_u64(&r);
		f->name = get_str(&r);
		f->kept = get_str(&r);
		break;
	case TABLE_KSYM:
		*addr = rbuf_u64(&r);
		*name = get_str(&r);
		break;
	default:
		return -EBADMSG;
	}
	return r.err;
}
