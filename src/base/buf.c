/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"

void wbuf_free(struct wbuf *b)
{
	free(b->data);
	*b = (struct wbuf){0};
}

void *wbuf_grow(struct wbuf *b, size_t n)
{
	void *p;

	if (b->err)
		return NULL;
	if (!b->data || b->len + n > b->cap) {
		size_t cap = MAX(b->cap * 2, MAX(b->len + n, (size_t)256));

		p = realloc(b->data, cap);
		if (!p) {
			b->err = -ENOMEM;
			return NULL;
		}
		b->data = p;
		b->cap = cap;
	}
	p = b->data + b->len;
	b->len += n;
	return p;
}

void wbuf_bytes(struct wbuf *b, const void *src, size_t n)
{
	void *p = wbuf_grow(b, n);

	if (p && n)
		memcpy(p, src, n);
}

void wbuf_u8(struct wbuf *b, u8 v)
{
	wbuf_bytes(b, &v, 1);
}

void wbuf_u16(struct wbuf *b, u16 v)
{
	wbuf_bytes(b, &v, 2);
}

void wbuf_u32(struct wbuf *b, u32 v)
{
	wbuf_bytes(b, &v, 4);
}

void wbuf_u64(struct wbuf *b, u64 v)
{
	wbuf_bytes(b, &v, 8);
}

void wbuf_var(struct wbuf *b, u64 v)
{
	u8 tmp[10];
	size_t n = 0;

	do {
		tmp[n] = v & 0x7f;
		v >>= 7;
		if (v)
			tmp[n] |= 0x80;
		n++;
	} while (v);
	wbuf_bytes(b, tmp, n);
}

void wbuf_str(struct wbuf *b, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	wbuf_var(b, n);
	wbuf_bytes(b, s, n);
}

const void *rbuf_take(struct rbuf *b, size_t n)
{
	const void *p = b->p;

	if (b->err || n > rbuf_left(b)) {
		b->err = -EBADMSG;
		return NULL;
	}
	b->p += n;
	return p;
}

void rbuf_bytes(struct rbuf *b, void *dst, size_t n)
{
	const void *p = rbuf_take(b, n);

	if (p)
		memcpy(dst, p, n);
	else
		memset(dst, 0, n);
}

u8 rbuf_u8(struct rbuf *b)
{
	u8 v;

	rbuf_bytes(b, &v, 1);
	return v;
}

u16 rbuf_u16(struct rbuf *b)
{
	u16 v;

	rbuf_bytes(b, &v, 2);
	return v;
}

u32 rbuf_u32(struct rbuf *b)
{
	u32 v;

	rbuf_bytes(b, &v, 4);
	return v;
}

u64 rbuf_u64(struct rbuf *b)
{
	u64 v;

	rbuf_bytes(b, &v, 8);
	return v;
}

u64 rbuf_var(struct rbuf *b)
{
	u64 v = 0;
	unsigned shift = 0;
	u8 c;

	do {
		c = rbuf_u8(b);
		if (b->err)
			return 0;
		if (shift > 63 || (shift == 63 && c > 1)) {
			b->err = -EBADMSG;
			return 0;
		}
		v |= (u64)(c & 0x7f) << shift;
		shift += 7;
	} while (c & 0x80);
	return v;
}

const char *rbuf_str(struct rbuf *b, size_t *n)
{
	u64 len = rbuf_var(b);
	const char *s;

	if (len > rbuf_left(b)) {
		b->err = -EBADMSG;
		len = 0;
	}
	s = rbuf_take(b, len);
	*n = s ? len : 0;
	return s;
}

char *rbuf_strdup(struct rbuf *b)
{
	size_t n;
	const char *s = rbuf_str(b, &n);

	return s ? strndup(s, n) : NULL;
}

int array_reserve(void *arr, size_t *cap, size_t need, size_t size)
{
	void **p = arr, *q;
	size_t n;

	if (need <= *cap)
		return 0;
	n = MAX(*cap * 2, MAX(need, (size_t)8));
	if (n > SIZE_MAX / size)
		return -ENOMEM;
	q = realloc(*p, n * size);
	if (!q)
		return -ENOMEM;
	*p = q;
	*cap = n;
	return 0;
}
