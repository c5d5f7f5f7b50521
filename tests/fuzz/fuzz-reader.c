/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Feeds whole traces to the reader. An input is chunks {u8 what, u16 length,
 * bytes} that are appended to the files of a trace. So that changes get past
 * the checksums, `what` may ask for bytes to be sealed: put in a frame, a
 * block, a tail, with every check right but lengths and counts as the input
 * says. Built with -fsanitize=fuzzer it is a libFuzzer target; otherwise a
 * program that runs the files it is given and, for each, --mutations N seeded
 * changes of it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/log.h"
#include "trace/stream.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { META, EVENTS, EVENTS_TAIL, SAMPLES, SAMPLES_TAIL, TABLES, END, NR_FILES };

static const char *const names[NR_FILES] = {
	"meta", "events", "events.tail", "samples", "samples.tail", "tables", "end"};

#define WHAT_FILE 7
#define WHAT_SEAL 8

static volatile u64 sink;
static char dir[64];

/* Meta: version, length and sum around the record. */
static void seal_meta(struct wbuf *to, const u8 *p, size_t n)
{
	size_t at = to->len;
	u64 sum;

	wbuf_bytes(to, "PLAYHEAD", 8);
	wbuf_u32(to, TRACE_VERSION);
	wbuf_u32(to, n);
	wbuf_bytes(to, p, n);
	sum = to->err ? 0 : XXH3_64bits(to->data + at, to->len - at);
	wbuf_u64(to, sum);
}

static void seal_frame(struct wbuf *to, const u8 *p, size_t n)
{
	size_t at = frame_begin(to);

	wbuf_bytes(to, p, n);
	frame_end(to, at);
}

/* Records {u16 length, bytes} to frames; gives their number. */
static u32 frames_of(struct wbuf *to, const u8 *p, size_t n)
{
	struct rbuf r = rbuf_of(p, n);
	u32 count = 0;

	while (rbuf_left(&r) > 2) {
		size_t len = rbuf_u16(&r);

		len = MIN(len, rbuf_left(&r));
		seal_frame(to, rbuf_take(&r, len), len);
		count++;
	}
	return count;
}

/* The three bytes before the records shift what their headers claim. */
static void seal_block(struct wbuf *to, const u8 *p, size_t n)
{
	struct wbuf raw = {0};
	struct block b = {0};
	u8 head[BLOCK_BYTES], *packed;
	size_t bound, got;

	if (n < 3)
		return;
	b.count = frames_of(&raw, p + 3, n - 3) + (s8)p[0];
	b.first = p[1];
	bound = ZSTD_compressBound(raw.len);
	packed = malloc(bound);
	if (packed && !raw.err) {
		got = ZSTD_compress(packed, bound, raw.data, raw.len, 1);
		b.raw_len = raw.len + (s8)p[2];
		b.packed_len = got;
		b.hash = XXH3_64bits(packed, got);
		block_encode(head, &b);
		wbuf_bytes(to, head, sizeof(head));
		wbuf_bytes(to, packed, got);
	}
	free(packed);
	wbuf_free(&raw);
}

static void seal_tail(struct wbuf *to, const u8 *p, size_t n)
{
	struct wbuf raw = {0};
	struct tail t = {.magic = TAIL_MAGIC};
	u64 count;

	if (n < 3)
		return;
	count = frames_of(&raw, p + 3, n - 3);
	t.first = p[1];
	t.committed = (count + (s8)p[0]) << 32 | (u32)(raw.len + (s8)p[2]);
	wbuf_bytes(to, &t, sizeof(t));
	wbuf_bytes(to, raw.data, raw.len);
	wbuf_free(&raw);
}

static void (*const seals[NR_FILES])(struct wbuf *to, const u8 *p, size_t n) = {
	[META] = seal_meta,	[EVENTS] = seal_block,	    [EVENTS_TAIL] = seal_tail,
	[SAMPLES] = seal_block, [SAMPLES_TAIL] = seal_tail, [TABLES] = seal_frame,
	[END] = seal_frame,
};

static void build(struct wbuf files[NR_FILES], const u8 *data, size_t size)
{
	struct rbuf r = rbuf_of(data, size);

	while (rbuf_left(&r) > 3) {
		u8 what = rbuf_u8(&r);
		size_t n = rbuf_u16(&r);
		unsigned file = (what & WHAT_FILE) % NR_FILES;
		const u8 *p;

		n = MIN(n, rbuf_left(&r));
		p = rbuf_take(&r, n);
		if (what & WHAT_SEAL)
			seals[file](&files[file], p, n);
		else
			wbuf_bytes(&files[file], p, n);
	}
}

static void store(struct wbuf files[NR_FILES])
{
	for (int i = 0; i < NR_FILES; i++) {
		char path[96];
		int fd;

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
		if (!files[i].len && i != EVENTS && i != SAMPLES)
			continue;
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || write(fd, files[i].data, files[i].len) < 0)
			abort();
		close(fd);
	}
}

static void use_events(struct trace_reader *r)
{
	u64 total = trace_reader_end(r)->events;
	const struct event *ev;
	struct trace_cursor *c;
	char line[256];

	if (trace_cursor_new(r, &c))
		abort();
	for (u64 n = 1; trace_cursor_next(c, &ev) == 1; n++) {
		if (ev->number != n || n > total)
			abort();
		event_text(ev, line, sizeof(line));
		sink += line[0];
	}
	/* From the back, as going backwards does. */
	for (u64 n = total + 1; n-- > total - MIN(total, 4UL);)
		if (!trace_cursor_seek(c, n) && trace_cursor_next(c, &ev) == 1)
			sink += ev->regs.r[0];
	if (!trace_cursor_seek(c, total + 2))
		abort();
	trace_cursor_free(c);
}

static void use(struct trace_reader *r)
{
	const struct trace_file *f;
	const struct sample *s;
	const char *name;
	char path[256];

	use_events(r);
	for (u64 n = trace_reader_samples(r); n; n--) {
		if (trace_reader_sample(r, n, &s))
			continue;
		if (s->number != n)
			abort();
		name = s->n_kernel ? trace_reader_ksym(r, s->kernel[0]) : NULL;
		sink += name ? *name : 0;
	}
	for (u32 id = 1; (f = trace_reader_file(r, id)); id++) {
		/* What is kept lies below the trace, whatever its tables say. */
		if (!trace_reader_file_path(r, id, path, sizeof(path)) &&
		    (strncmp(path, trace_reader_dir(r), strlen(trace_reader_dir(r))) ||
		     strstr(path, "/../")))
			abort();
		sink += f->name[0];
	}
	sink += strlen(trace_reader_meta(r)->args) + strlen(trace_reader_end(r)->why);
}

static void remove_dir(void)
{
	char path[96];

	for (int i = 0; i < NR_FILES; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wbuf files[NR_FILES] = {0};
	struct trace_reader *r;

	if (!dir[0]) {
		strcpy(dir, "/tmp/playhead-fuzz-XXXXXX");
		if (!mkdtemp(dir))
			abort();
		atexit(remove_dir);
		log_set_level(LOG_SILENT);
	}
	build(files, data, size);
	store(files);
	for (int i = 0; i < NR_FILES; i++)
		wbuf_free(&files[i]);
	if (!trace_reader_open(&r, dir)) {
		use(r);
		trace_reader_free(r);
	}
	return 0;
}

#include "drive.h"
