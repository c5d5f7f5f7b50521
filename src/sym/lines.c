/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/buf.h"
#include "sym/elf-file.h"
#include "sym/lines.h"

/* A range of code and the compilation unit it comes from. */
struct unit {
	u64 start, end;
	Dwarf_Off die;
};

struct lines {
	struct elf_file file;
	Dwarf *dw;
	struct unit *units;
	size_t n, cap;
};

static int compare(const void *pa, const void *pb)
{
	const struct unit *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

/*
 * The units' own ranges: .debug_aranges would be shorter work, but clang
 * leaves it out.
 */
static int collect_units(struct lines *l)
{
	Dwarf_Off at = 0, next;
	size_t header;

	while (!dwarf_nextcu(l->dw, at, &next, &header, NULL, NULL, NULL)) {
		Dwarf_Addr base, start, end;
		ptrdiff_t walk = 0;
		Dwarf_Die die;

		if (next <= at)
			break;
		if (dwarf_offdie(l->dw, at + header, &die)) {
			while ((walk = dwarf_ranges(&die, walk, &base, &start, &end)) > 0) {
				int err = array_reserve(&l->units, &l->cap, l->n + 1,
							sizeof(*l->units));

				if (err)
					return err;
				/* Code that the linker dropped has ranges at 0. */
				if (start && start < end)
					l->units[l->n++] =
						(struct unit){start, end, at + header};
			}
		}
		at = next;
	}
	if (l->n)
		qsort(l->units, l->n, sizeof(*l->units), compare);
	return l->n ? 0 : -ENOENT;
}

static int open_dwarf(struct lines *l, const char *path, const char *name)
{
	struct elf_file main;
	GElf_Shdr sh;
	int err;

	err = elf_file_open(&main, path);
	if (err)
		return err;
	if (elf_file_section(main.elf, ".debug_info", &sh)) {
		l->file = main;
	} else {
		err = elf_file_find_debug(&l->file, main.elf, name);
		elf_file_close(&main);
		if (err)
			return err;
	}
	l->dw = dwarf_begin_elf(l->file.elf, DWARF_C_READ, NULL);
	return l->dw ? 0 : -ENOENT;
}

int lines_load(struct lines **out, const char *path, const char *name)
{
	struct lines *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->file = ELF_FILE_NONE;
	err = open_dwarf(l, path, name);
	if (!err)
		err = collect_units(l);
	if (err) {
		lines_free(l);
		l = NULL;
	}
	*out = l;
	return err;
}

void lines_free(struct lines *l)
{
	if (!l)
		return;
	if (l->dw)
		dwarf_end(l->dw);
	elf_file_close(&l->file);
	free(l->units);
	free(l);
}

const char *lines_find(struct lines *l, u64 vaddr, int *line)
{
	size_t lo = 0, hi = l->n;
	const struct unit *u;
	Dwarf_Line *found;
	Dwarf_Die die;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->units[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NULL;
	u = &l->units[lo - 1];
	if (vaddr >= u->end || !dwarf_offdie(l->dw, u->die, &die))
		return NULL;
	found = dwarf_getsrc_die(&die, vaddr);
	if (!found || dwarf_lineno(found, line) || *line <= 0)
		return NULL;
	return dwarf_linesrc(found, NULL, NULL);
}
