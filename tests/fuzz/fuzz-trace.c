/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Feeds bytes to every decoder of the trace. Built with -fsanitize=fuzzer it
 * is a libFuzzer target; otherwise a program that runs the files it is given
 * and, for each, --mutations N seeded changes of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "trace/codec.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile u64 sink;

/* Touch all that a decoded event points to. */
static void use_event(const struct event *ev)
{
	struct maps maps = {0};
	char line[512];

	event_text(ev, line, sizeof(line));
	for (u32 i = 0; i < ev->xstate_len; i++)
		sink += ev->xstate[i];
	for (u32 i = 0; i < ev->auxv_len; i++)
		sink += ev->auxv[i];
	for (u32 i = 0; i < ev->point.n_pages; i++)
		sink += ev->point.pages[i].hash;
	for (u32 i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];

		if (e->kind == EF_MEM)
			for (u64 k = 0; k < e->len; k++)
				sink += e->mem.data[k];
		if (e->kind == EF_FORK)
			sink += e->fork.regs->r[0];
		if (maps_apply(&maps, e))
			break;
	}
	for (size_t i = 1; i < maps.n; i++)
		if (maps.v[i].start < maps.v[i - 1].end)
			abort();
	maps_fini(&maps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct event_store store = {0};
	struct event ev = {0};
	struct sample s;
	struct trace_meta meta;
	struct trace_end end;
	struct trace_file file;
	struct rbuf r = rbuf_of(data, size);
	struct block b;
	const char *name;
	const void *p;
	size_t n;
	u64 addr;
	int kind;

	log_set_level(LOG_SILENT);
	if (!event_decode(data, size, &ev, &store))
		use_event(&ev);
	if (!sample_decode(data, size, &s))
		sink += s.kernel[0];
	if (!meta_decode(data, size, &meta))
		sink += strlen(meta.cpu);
	if (!end_decode(data, size, &end))
		sink += strlen(end.why);
	if (!table_decode(data, size, &kind, &file, &addr, &name))
		sink += strlen(kind == TABLE_FILE ? file.kept : name);
	if (size >= BLOCK_BYTES && !block_decode(data, &b))
		sink += b.count;
	while (frame_next(&r, &p, &n) == 1)
		sink += n;
	event_store_fini(&store);
	return 0;
}

#include "drive.h"
