/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * frame.c - what lies around the records of codec.c: checksummed frames, and
 * the headers of blocks.
 */
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "trace/codec.h"

u32 frame_check(const void *p, size_t n)
{
	return (u32)XXH3_64bits(p, n);
}

size_t frame_begin(struct wbuf *b)
{
	size_t at = b->len;

	wbuf_u64(b, 0);
	return at;
}

void frame_end(struct wbuf *b, size_t at)
{
	u32 head[2];

	if (b->err)
		return;
	head[0] = b->len - at - FRAME_BYTES;
	head[1] = frame_check(b->data + at + FRAME_BYTES, head[0]);
	memcpy(b->data + at, head, sizeof(head));
}

int frame_next(struct rbuf *r, const void **p, size_t *n)
{
	u32 len, check;

	if (!rbuf_left(r))
		return 0;
	len = rbuf_u32(r);
	check = rbuf_u32(r);
	*p = rbuf_take(r, len);
	*n = len;
	if (!*p || frame_check(*p, len) != check)
		return -EBADMSG;
	return 1;
}

void block_encode(u8 out[BLOCK_BYTES], const struct block *b)
{
	u32 head[4] = {BLOCK_MAGIC, b->raw_len, b->packed_len, b->count};
	u64 sum;

	memcpy(out, head, 16);
	memcpy(out + 16, &b->first, 8);
	memcpy(out + 24, &b->hash, 8);
	sum = XXH3_64bits(out, 32);
	memcpy(out + 32, &sum, 8);
}

int block_decode(const u8 in[BLOCK_BYTES], struct block *b)
{
	u32 head[4];
	u64 sum;

	memcpy(head, in, 16);
	memcpy(&b->first, in + 16, 8);
	memcpy(&b->hash, in + 24, 8);
	memcpy(&sum, in + 32, 8);
	if (head[0] != BLOCK_MAGIC || sum != XXH3_64bits(in, 32))
		return -EBADMSG;
	b->raw_len = head[1];
	b->packed_len = head[2];
	b->count = head[3];
	if (!b->count || b->raw_len > BLOCK_RAW_MAX || b->packed_len > BLOCK_RAW_MAX ||
	    b->count > b->raw_len / FRAME_BYTES)
		return -EBADMSG;
	return 0;
}
