/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * elf-file.h - open an ELF file and find the file with its debug information.
 */
#ifndef PLAYHEAD_SYM_ELF_FILE_H
#define PLAYHEAD_SYM_ELF_FILE_H

#include <gelf.h>

#include "base/base.h"

struct elf_file {
	int fd;
	Elf *elf;
};

#define ELF_FILE_NONE ((struct elf_file){.fd = -1})

/* -EBADMSG: not a 64-bit x86-64 ELF file. */
int elf_file_open(struct elf_file *f, const char *path) __must_check;
void elf_file_close(struct elf_file *f);

/* The first section of that name; its header goes to @sh. NULL: none. */
Elf_Scn *elf_file_section(Elf *elf, const char *name, GElf_Shdr *sh);
/* Contents of a section that has any, in memory that lives with @elf. */
Elf_Data *elf_file_data(Elf_Scn *scn, const GElf_Shdr *sh);

/*
 * The separate debug file of @elf, which the program knew as @name: by build
 * id, then by debug link. 0, or -ENOENT.
 */
int elf_file_find_debug(struct elf_file *out, Elf *elf, const char *name) __must_check;

#endif
