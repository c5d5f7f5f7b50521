/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "sym/object.h"
#include "sym/sym.h"

struct entry {
	bool tried;
	struct object *o; /* NULL: not kept, or not an ELF file */
};

struct sym {
	struct trace_reader *r;
	struct entry *files; /* by trace_file.id */
	size_t n, cap;
};

int sym_new(struct sym **out, struct trace_reader *r)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->r = r;
	return 0;
}

void sym_free(struct sym *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		object_free(s->files[i].o);
	free(s->files);
	free(s);
}

static struct object *object_of(struct sym *s, const struct trace_file *file)
{
	char path[PATH_MAX];
	struct entry *e;

	if (file->id >= s->n) {
		if (array_reserve(&s->files, &s->cap, file->id + 1, sizeof(*s->files)))
			return NULL;
		memset(s->files + s->n, 0, (file->id + 1 - s->n) * sizeof(*s->files));
		s->n = file->id + 1;
	}
	e = &s->files[file->id];
	if (!e->tried) {
		e->tried = true;
		if (trace_reader_file_path(s->r, file->id, path, sizeof(path)) ||
		    object_load(&e->o, path, file->name))
			e->o = NULL;
	}
	return e->o;
}

/*
 * The object that @addr lies in and its address there. *@file gets what to
 * call the place, whatever is returned.
 */
static struct object *locate(struct sym *s, const struct maps *maps, u64 addr, u64 *rva,
			     const char **file)
{
	const struct map *m = maps ? maps_find(maps, addr) : NULL;
	const struct trace_file *f;
	struct object *o;

	*rva = addr;
	*file = "?";
	if (!m)
		return NULL;
	*file = m->name && *m->name ? m->name : "[anon]";
	f = m->file ? trace_reader_file(s->r, m->file) : NULL;
	if (!f)
		return NULL;
	if (f->name && *f->name)
		*file = f->name;
	*rva = addr - m->start + m->offset;
	o = object_of(s, f);
	return o && object_vaddr(o, *rva, rva) ? o : NULL;
}

void sym_name(struct sym *s, const struct maps *maps, u64 addr, struct sym_name *n)
{
	struct object *o;
	u64 start;

	*n = (struct sym_name){0};
	o = locate(s, maps, addr, &n->rva, &n->file);
	if (!o)
		return;
	n->func = object_func(o, n->rva, &start);
	if (n->func)
		n->offset = n->rva - start;
}

void sym_line(struct sym *s, const struct maps *maps, u64 addr, struct sym_line *l)
{
	const char *file;
	struct object *o;
	u64 rva;

	*l = (struct sym_line){0};
	o = locate(s, maps, addr, &rva, &file);
	if (o)
		l->source = object_line(o, rva, &l->line);
}

/* perf marks where one context ends in a chain by addresses above this. */
#define FIRST_CONTEXT_MARK ((u64)-4095)

bool sym_sample_name(struct sym *s, const struct sample *sample, const struct maps *maps,
		     struct sym_name *n)
{
	for (u32 i = 0; i < MIN(sample->n_kernel, (u32)SAMPLE_MAX_KERNEL); i++) {
		if (sample->kernel[i] >= FIRST_CONTEXT_MARK)
			continue;
		*n = (struct sym_name){.func = trace_reader_ksym(s->r, sample->kernel[i]),
				       .file = "[kernel]",
				       .rva = sample->kernel[i]};
		return true;
	}
	sym_name(s, maps, sample->point.regs.r[X86_RIP], n);
	return false;
}
