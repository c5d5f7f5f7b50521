/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tables.h - read the tables of an ELF file that tell where functions are.
 * Each adds what it finds to @f; what is damaged is left out. -ENOMEM only.
 */
#ifndef PLAYHEAD_SYM_TABLES_H
#define PLAYHEAD_SYM_TABLES_H

#include "sym/elf-file.h"
#include "sym/funcs.h"

bool tables_have_symtab(Elf *elf);
/* .symtab and .dynsym. */
int tables_symbols(struct funcs *f, Elf *elf) __must_check;
/* "name@plt" for each stub of the .plt sections. */
int tables_plt(struct funcs *f, Elf *elf) __must_check;
/* "fn@0xADDRESS" for each entry of .eh_frame: for stripped code. */
int tables_frames(struct funcs *f, Elf *elf) __must_check;

#endif
