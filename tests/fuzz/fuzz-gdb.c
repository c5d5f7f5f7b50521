/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fuzz-gdb.c - bytes of a client into the codec, and what comes out of it into
 * the dispatcher over a fake machine. Each file named is one client; then
 * packets are made from those by small changes (as many as $FUZZ_ROUNDS says).
 */
#include <stdio.h>
#include <stdlib.h>

#include "gdbstub/stub.h"
#include "tests/unit/fake-target.h"

static void drop(void *ctx, const void *body, size_t n)
{
	wbuf_reset(ctx);
	codec_frame(ctx, body, n);
}

/* One client from its first byte to its last; the reply must always be one
 * that can be framed and taken apart again. */
static void client(const u8 *p, size_t n)
{
	struct wbuf reply = {0}, frame = {0};
	struct codec in = {0}, back = {0};
	struct gdbstub *stub;
	struct fake fake;

	fake_init(&fake);
	if (gdbstub_new(&stub, &fake.target, drop, &frame))
		abort();
	for (size_t i = 0; i < n; i++) {
		enum codec_item got = CODEC_NONE;

		if (codec_feed(&in, p[i]) != CODEC_PACKET)
			continue;
		gdbstub_packet(stub, in.body.data, in.body.len, &reply);
		wbuf_reset(&frame);
		codec_frame(&frame, reply.data, reply.len);
		for (size_t k = 0; k < frame.len; k++)
			got = codec_feed(&back, frame.data[k]);
		if (got != CODEC_PACKET || back.body.len != reply.len)
			abort();
	}
	gdbstub_free(stub);
	if (fake.n_points)
		abort();
	codec_fini(&in);
	codec_fini(&back);
	wbuf_free(&reply);
	wbuf_free(&frame);
}

/* The same packets with a byte changed, doubled, dropped, or cut off here. */
static void mutate(const u8 *p, size_t n, unsigned rounds)
{
	for (unsigned r = 0; r < rounds; r++) {
		struct wbuf raw = {0}, out = {0};
		size_t at = 0;

		while (at < n) {
			const u8 *nl = memchr(p + at, '\n', n - at);
			size_t len = nl ? (size_t)(nl - p) - at : n - at;
			size_t k = len ? rand() % len : 0;

			wbuf_reset(&raw);
			wbuf_bytes(&raw, p + at, len);
			if (len && rand() % 2)
				raw.data[k] =
					rand() % 8 ? "0fpx;:,.-X"[rand() % 10] : rand();
			if (len && rand() % 4 == 0)
				raw.len = k;
			else if (rand() % 4 == 0)
				wbuf_bytes(&raw, p + at, k);
			codec_frame(&out, raw.data, raw.len);
			at += len + 1;
		}
		client(out.data, out.len);
		wbuf_free(&raw);
		wbuf_free(&out);
	}
}

/* A corpus file holds packet bodies, one a line. */
static int run_file(const char *path, unsigned rounds)
{
	FILE *f = fopen(path, "rb");
	struct wbuf all = {0};
	u8 buf[4096];
	size_t n;

	if (!f) {
		perror(path);
		return 1;
	}
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		wbuf_bytes(&all, buf, n);
	fclose(f);
	client(all.data, all.len); /* as the wire itself */
	mutate(all.data, all.len, rounds);
	wbuf_free(&all);
	return 0;
}

int main(int argc, char **argv)
{
	const char *given = getenv("FUZZ_ROUNDS");
	int bad = argc < 2;

	srand(11);
	for (int i = 1; i < argc; i++)
		bad |= run_file(argv[i], given ? strtoul(given, NULL, 10) : 200);
	return bad;
}
