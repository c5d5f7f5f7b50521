/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Machine code for print_hash_block() over fixed ranges (bpf/print-hash.h).
 *
 * rax rbx rcx rdx: the lanes; rsi: the table; rdi: memory; r8: PRINT_MUL;
 * r9: blocks left; r10: scratch.
 */
#include <errno.h>
#include <string.h>

#include "stop/internal.h"
#include "bpf/print-hash.h"

/* What is armed near a site may be bytes of ours. */
#define SITE_REACH 32

static bool touches_site(const struct stops *s, u64 addr, u64 len)
{
	for (u32 i = 0; i < s->n_sites; i++)
		if (addr < s->sites[i].ip + SITE_REACH &&
		    s->sites[i].ip < addr + len + SITE_REACH)
			return true;
	return false;
}

static int windows(const struct stop_cond *c, struct tramp_ranges *out)
{
	for (int i = 0; i < PRINT_WINDOWS; i++) {
		u64 addr;

		if (!(c->print.valid[0] & PRINT_VALID_WINDOW(i)))
			continue;
		addr = print_window(c->regs.r[print_window_regs[i]], c->regs.r[X86_RSP]);
		if (!addr)
			return -ENODATA;
		out->v[out->n].addr = addr;
		out->v[out->n++].blocks = 1;
	}
	out->expect = c->print.windows;
	return 0;
}

static int stack(const struct stop_cond *c, struct tramp_ranges *out)
{
	u64 addr = c->regs.r[X86_RSP], done = 0;

	for (int i = 0; i < PRINT_STACK_PIECES; i++) {
		u64 n = print_stack_piece(addr + done, done);

		if (!n || !(c->print.valid[0] & PRINT_VALID_STACK(i)))
			break;
		done += n;
	}
	if (done % 8)
		return -ENODATA;
	out->n = done > 0;
	out->v[0].addr = addr;
	out->v[0].blocks = done / PRINT_BLOCK;
	out->tail = done % PRINT_BLOCK / 8;
	out->bytes = done;
	out->expect = c->print.stack;
	return 0;
}

/*
 * A window that shows code where something is armed: its bytes as the program
 * sees them, if it cannot write them itself.
 */
static int copy_code(struct stops *s, struct tramp_ranges *r, u32 i)
{
	if (r->v[i].blocks != 1 || r->tail || holes_writable(&s->holes, r->v[i].addr) ||
	    stops_read(s, r->v[i].addr, r->copy[i], PRINT_WINDOW))
		return -ENODATA;
	r->v[i].copied = true;
	return 0;
}

int tramp_ranges(struct stops *s, const struct stop_cond *c, int part,
		 struct tramp_ranges *out)
{
	int err;

	memset(out, 0, sizeof(*out));
	err = part ? stack(c, out) : windows(c, out);
	if (err || !out->n)
		return -ENODATA;
	for (u32 i = 0; i < out->n && !err; i++)
		if (touches_site(s, out->v[i].addr,
				 out->v[i].blocks * PRINT_BLOCK + out->tail * 8))
			err = copy_code(s, out, i);
	return err;
}

static void imm64(struct wbuf *o, u8 rex, u8 opcode, u64 v)
{
	wbuf_u8(o, rex);
	wbuf_u8(o, opcode);
	wbuf_u64(o, v);
}

/* lane = (lane ^ word) * MUL; lane ^= lane >> 32. The word is xored already.
 * Lanes are numbered as the processor does: a rax 0, b rbx 3, c rcx 1, d rdx 2. */
static void mix(struct wbuf *o, u8 lane)
{
	const u8 code[] = {
		0x49,
		0x0f,
		0xaf,
		0xc0 | lane << 3, /* imul %r8, lane */
		0x49,
		0x89,
		0xc2 | lane << 3, /* mov lane, %r10 */
		0x49,
		0xc1,
		0xea,
		0x20, /* shr $32, %r10 */
		0x4c,
		0x31,
		0xd0 | lane, /* xor %r10, lane */
	};

	wbuf_bytes(o, code, sizeof(code));
}

static const u8 lanes[4] = {0, 3, 1, 2};

/* xor off(%rdi), lane; mix */
static void take(struct wbuf *o, int word)
{
	u8 lane = lanes[word & 3];
	const u8 code[] = {0x48, 0x33, 0x47 | lane << 3, 8 * word};

	wbuf_bytes(o, code, sizeof(code));
	mix(o, lane);
}

static void init(struct wbuf *o)
{
	struct print_hash h;

	print_hash_init(&h);
	imm64(o, 0x48, 0xb8, h.a);
	imm64(o, 0x48, 0xbb, h.b);
	imm64(o, 0x48, 0xb9, h.c);
	imm64(o, 0x48, 0xba, h.d);
	imm64(o, 0x49, 0xb8, PRINT_MUL);
}

/* print_hash_end(): from rax, rbx, rcx, rdx into rax. */
static void finish(struct wbuf *o, u64 bytes, u64 expect)
{
	static const u8 next[3] = {0xd8, 0xc8, 0xd0}; /* xor %rbx|%rcx|%rdx, %rax */

	/* x = mix(bytes, a): (bytes ^ a) */
	imm64(o, 0x49, 0xba, bytes);	  /* mov $bytes, %r10 */
	wbuf_bytes(o, "\x4c\x31\xd0", 3); /* xor %r10, %rax */
	mix(o, 0);
	for (int i = 0; i < 3; i++) {
		wbuf_bytes(o, "\x48\x31", 2);
		wbuf_u8(o, next[i]);
		mix(o, 0);
	}
	mix(o, 0);
	imm64(o, 0x49, 0xba, expect);
	wbuf_bytes(o, "\x4c\x39\xd0", 3); /* cmp %r10, %rax */
}

/* A jump over data: copies, then {address, blocks} until 0. The table's place. */
static size_t emit_table(struct wbuf *o, u64 at, const struct tramp_ranges *r)
{
	size_t begin = o->len, table;
	u64 copies[PRINT_WINDOWS];
	u32 n = 0;

	for (u32 i = 0; i < r->n; i++)
		n += r->v[i].copied;
	wbuf_u8(o, 0xe9);
	wbuf_u32(o, n * PRINT_WINDOW + 16 * (r->n + 1));
	for (u32 i = 0; i < r->n; i++) {
		copies[i] = r->v[i].copied ? at + (o->len - begin) : r->v[i].addr;
		if (r->v[i].copied)
			wbuf_bytes(o, r->copy[i], PRINT_WINDOW);
	}
	table = o->len;
	for (u32 i = 0; i < r->n; i++) {
		wbuf_u64(o, copies[i]);
		wbuf_u64(o, r->v[i].blocks);
	}
	wbuf_u64(o, 0);
	wbuf_u64(o, 0);
	return table;
}

int tramp_emit_hash(struct wbuf *o, u64 at, const struct tramp_ranges *r)
{
	size_t begin = o->len, table, loop, skip, block;
	s32 back;

	table = emit_table(o, at, r);
	init(o);
	imm64(o, 0x48, 0xbe, at + (table - begin)); /* mov $table, %rsi */
	loop = o->len;
	wbuf_bytes(o, "\x4c\x8b\x4e\x08", 4); /* mov 8(%rsi), %r9 */
	wbuf_bytes(o, "\x48\x83\x3e\x00", 4); /* cmpq $0, (%rsi) */
	wbuf_bytes(o, "\x0f\x84", 2);	      /* je done */
	skip = o->len;
	wbuf_u32(o, 0);
	wbuf_bytes(o, "\x48\x8b\x3e", 3);     /* mov (%rsi), %rdi */
	wbuf_bytes(o, "\x48\x83\xc6\x10", 4); /* add $16, %rsi */
	wbuf_bytes(o, "\x4d\x85\xc9", 3);     /* test %r9, %r9 */
	wbuf_bytes(o, "\x0f\x84", 2);	      /* je loop */
	back = (s32)(loop - (o->len + 4));
	wbuf_u32(o, (u32)back);
	block = o->len;
	for (int w = 0; w < PRINT_BLOCK_WORDS; w++)
		take(o, w);
	wbuf_bytes(o, "\x48\x83\xc7\x40", 4); /* add $64, %rdi */
	wbuf_bytes(o, "\x49\xff\xc9", 3);     /* dec %r9 */
	wbuf_bytes(o, "\x0f\x85", 2);	      /* jne block */
	back = (s32)(block - (o->len + 4));
	wbuf_u32(o, (u32)back);
	wbuf_u8(o, 0xe9); /* jmp loop */
	back = (s32)(loop - (o->len + 4));
	wbuf_u32(o, (u32)back);
	if (!o->err) {
		u32 rel = o->len - (skip + 4);

		memcpy(o->data + skip, &rel, 4);
	}
	/* rdi stands behind the last block; a table of no blocks set it too. */
	for (u32 w = 0; r->tail && w < PRINT_BLOCK_WORDS; w++) {
		if (w < r->tail)
			take(o, w);
		else
			mix(o, lanes[w & 3]);
	}
	finish(o, r->bytes, r->expect);
	if (o->err)
		return o->err;
	return o->len - begin > TRAMP_HASH_BYTES - 120 ? -E2BIG : 0;
}

_Static_assert(TRAMP_NEAR_BEFORE == PRINT_WINDOW + SITE_REACH,
	       "windows that begin there can show what is armed at the site");

static void near_copy(struct stops *s, struct tramp_inner *in, u32 i)
{
	u64 start = in->sites[i] - TRAMP_NEAR_BEFORE;

	in->copied[i] = !holes_writable(&s->holes, start) &&
			!holes_writable(&s->holes, start + TRAMP_NEAR_BYTES - 1) &&
			!stops_read(s, start, in->copy[i], TRAMP_NEAR_BYTES);
}

int tramp_inner(struct stops *s, const struct stop_cond *c,
		const struct tramp_ranges *windows, struct tramp_inner *out)
{
	u32 w = 0;

	memset(out, 0, sizeof(*out));
	if (s->n_sites > TRAMP_INNER_SITES)
		return -ENODATA;
	for (u32 i = 0; i < s->n_sites; i++) {
		out->sites[i] = s->sites[i].ip;
		near_copy(s, out, i);
	}
	out->n_sites = s->n_sites;
	for (int i = 0; i < PRINT_WINDOWS; i++) {
		if (!(c->print.valid[0] & PRINT_VALID_WINDOW(i)))
			continue;
		for (int k = 0; k < PRINT_WORDS; k++) {
			int bit = i * PRINT_WORDS + k;

			if (!(c->print.valid[1 + bit / 64] & 1UL << (bit & 63)))
				continue;
			if (windows->v[w].copied)
				memcpy(&out->literal[out->n], windows->copy[w] + 8 * k, 8);
			else
				out->words[out->n] = windows->v[w].addr + 8 * k;
			out->n++;
		}
		w++;
	}
	out->expect = c->print.inner;
	return out->n ? 0 : -ENODATA;
}

/* Point the rel32 at @at to the end of @o. */
static void land(struct wbuf *o, size_t at)
{
	u32 rel = o->len - (at + 4);

	if (!o->err)
		memcpy(o->data + at, &rel, 4);
}

/*
 * A jump over data: literals, the copies of code, then where each word is,
 * until 0. Its place; the copies' addresses go to @copies.
 */
static size_t emit_words(struct wbuf *o, u64 at, const struct tramp_inner *in, u64 *copies)
{
	size_t begin = o->len, table, jump;

	wbuf_u8(o, 0xe9);
	jump = o->len;
	wbuf_u32(o, 0);
	for (u32 i = 0; i < in->n; i++)
		wbuf_u64(o, in->literal[i]);
	for (u32 i = 0; i < in->n_sites; i++) {
		copies[i] = at + (o->len - begin);
		if (in->copied[i])
			wbuf_bytes(o, in->copy[i], TRAMP_NEAR_BYTES);
	}
	table = o->len;
	for (u32 i = 0; i < in->n; i++)
		wbuf_u64(o, in->words[i] ? in->words[i] : at + JUMP_BYTES + 8 * i);
	wbuf_u64(o, 0);
	land(o, jump);
	return table - begin;
}

/* Is rdi near @ip? Then carry is set. */
static void emit_near(struct wbuf *o, u64 ip)
{
	imm64(o, 0x49, 0xba, ip - TRAMP_NEAR_BEFORE); /* mov, %r10 */
	wbuf_bytes(o, "\x49\x89\xf9", 3);	      /* mov %rdi, %r9 */
	wbuf_bytes(o, "\x4d\x29\xd1", 3);	      /* sub %r10, %r9 */
	wbuf_bytes(o, "\x49\x81\xf9", 3);	      /* cmp $, %r9 */
	wbuf_u32(o, PRINT_WINDOW + 2 * SITE_REACH);
}

/* Then point it into the copy at @copy; without one, jump: the returned place
 * is to be pointed to where. */
static size_t emit_near_site(struct wbuf *o, u64 ip, bool copied, u64 copy)
{
	emit_near(o, ip);
	if (!copied) {
		wbuf_bytes(o, "\x0f\x82", 2); /* jb */
		wbuf_u32(o, 0);
		return o->len - 4;
	}
	wbuf_bytes(o, "\x73\x0d", 2);			       /* jae past the next two */
	imm64(o, 0x49, 0xba, copy - (ip - TRAMP_NEAR_BEFORE)); /* mov, %r10 */
	wbuf_bytes(o, "\x4c\x01\xd7", 3);		       /* add %r10, %rdi */
	return 0;
}

int tramp_emit_inner(struct wbuf *o, u64 at, const struct tramp_inner *in)
{
	size_t begin = o->len, table, loop, done, end, near[TRAMP_INNER_SITES];
	u64 copies[TRAMP_INNER_SITES];

	table = emit_words(o, at, in, copies);
	init(o);
	imm64(o, 0x48, 0xbe, at + table); /* mov $table, %rsi */
	loop = o->len;
	wbuf_bytes(o, "\x48\x8b\x3e", 3);     /* mov (%rsi), %rdi */
	wbuf_bytes(o, "\x48\x83\xc6\x08", 4); /* add $8, %rsi */
	wbuf_bytes(o, "\x48\x85\xff", 3);     /* test %rdi, %rdi */
	wbuf_bytes(o, "\x0f\x84", 2);	      /* je done */
	done = o->len;
	wbuf_u32(o, 0);
	wbuf_bytes(o, "\x48\x8b\x3f", 3);     /* mov (%rdi), %rdi */
	wbuf_bytes(o, "\x48\x83\xe7\xf8", 4); /* and $-8, %rdi */
	for (u32 i = 0; i < in->n_sites; i++)
		near[i] = emit_near_site(o, in->sites[i], in->copied[i], copies[i]);
	for (int w = 0; w < PRINT_BLOCK_WORDS; w++)
		take(o, w);
	wbuf_u8(o, 0xe9); /* jmp loop */
	wbuf_u32(o, (u32)(loop - (o->len + 4)));
	land(o, done);
	finish(o, 0, in->expect);
	wbuf_u8(o, 0xe9); /* jmp end */
	end = o->len;
	wbuf_u32(o, 0);
	for (u32 i = 0; i < in->n_sites; i++)
		if (near[i])
			land(o, near[i]);
	wbuf_bytes(o, "\x48\x39\xc0", 3); /* cmp %rax, %rax */
	land(o, end);
	if (o->err)
		return o->err;
	return o->len - begin > TRAMP_INNER_BYTES - 120 ? -E2BIG : 0;
}
