/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/elf-file.h"
#include "sym/funcs.h"
#include "sym/lines.h"
#include "sym/object.h"
#include "sym/tables.h"

struct segment {
	u64 offset, size, vaddr;
	bool exec;
};

struct object {
	struct funcs funcs;   /* from symbol tables and the PLT */
	struct funcs unnamed; /* from call frame information */
	struct segment *segments;
	size_t n_segments;
	char *path, *name;
	struct lines *lines;
	bool lines_tried;
};

static int load_segments(struct object *o, Elf *elf)
{
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return -EBADMSG;
	o->segments = calloc(n ? n : 1, sizeof(*o->segments));
	if (!o->segments)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_LOAD)
			continue;
		o->segments[o->n_segments++] = (struct segment){
			.offset = ph.p_offset,
			.size = ph.p_filesz,
			.vaddr = ph.p_vaddr,
			.exec = ph.p_flags & PF_X,
		};
	}
	return 0;
}

int object_load(struct object **out, const char *path, const char *name)
{
	struct elf_file main = ELF_FILE_NONE, debug = ELF_FILE_NONE;
	struct object *o = calloc(1, sizeof(*o));
	int err = -ENOMEM;

	if (!o)
		return -ENOMEM;
	o->path = strdup(path);
	o->name = strdup(name);
	if (!o->path || !o->name)
		goto out;
	err = elf_file_open(&main, path);
	if (err)
		goto out;
	err = load_segments(o, main.elf);
	if (!err)
		err = tables_symbols(&o->funcs, main.elf);
	if (!err && !tables_have_symtab(main.elf) &&
	    !elf_file_find_debug(&debug, main.elf, name))
		err = tables_symbols(&o->funcs, debug.elf);
	if (!err)
		err = tables_plt(&o->funcs, main.elf);
	if (!err)
		err = tables_frames(&o->unnamed, main.elf);
	funcs_sort(&o->funcs);
	funcs_sort(&o->unnamed);
out:
	elf_file_close(&debug);
	elf_file_close(&main);
	if (err) {
		object_free(o);
		o = NULL;
	}
	*out = o;
	return err;
}

void object_free(struct object *o)
{
	if (!o)
		return;
	lines_free(o->lines);
	funcs_fini(&o->funcs);
	funcs_fini(&o->unnamed);
	free(o->segments);
	free(o->path);
	free(o->name);
	free(o);
}

bool object_vaddr(const struct object *o, u64 off, u64 *vaddr)
{
	bool found = false;

	/* Two segments can share a page of the file: code wins. */
	for (size_t i = 0; i < o->n_segments; i++) {
		const struct segment *s = &o->segments[i];

		if (off < s->offset || off - s->offset >= s->size)
			continue;
		if (!found || s->exec)
			*vaddr = off - s->offset + s->vaddr;
		found = true;
		if (s->exec)
			break;
	}
	return found;
}

const char *object_func(struct object *o, u64 vaddr, u64 *start)
{
	struct funcs *from = &o->funcs;
	const struct func *fn = funcs_find(from, vaddr);

	if (!fn) {
		from = &o->unnamed;
		fn = funcs_find(from, vaddr);
	}
	if (!fn)
		return NULL;
	*start = fn->start;
	return funcs_name(from, fn);
}

const char *object_line(struct object *o, u64 vaddr, int *line)
{
	if (!o->lines_tried) {
		o->lines_tried = true;
		/* Without memory or debug information there are no lines. */
		if (lines_load(&o->lines, o->path, o->name))
			o->lines = NULL;
	}
	return o->lines ? lines_find(o->lines, vaddr, line) : NULL;
}
