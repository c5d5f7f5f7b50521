/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "sym/tables.h"

bool tables_have_symtab(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
			return true;
	}
	return false;
}

/* ---- symbol tables ---- */

/* What a reader would call the place, of several names for it. */
static u8 rank_of(const GElf_Sym *sym, const char *name)
{
	u8 rank = 0;

	if (GELF_ST_TYPE(sym->st_info) == STT_NOTYPE)
		rank += 16;
	if (!sym->st_size)
		rank += 8;
	if (GELF_ST_BIND(sym->st_info) == STB_LOCAL)
		rank += 4;
	else if (GELF_ST_BIND(sym->st_info) == STB_WEAK)
		rank += 2;
	if (name[0] == '_')
		rank += name[1] == '_' && name[2] != 'Z' ? 2 : 1;
	return rank;
}

static int add_symbol(struct funcs *f, Elf *elf, const GElf_Sym *sym, const char *name)
{
	int type = GELF_ST_TYPE(sym->st_info);
	struct func fn = {.start = sym->st_value};
	GElf_Shdr sh;
	Elf_Scn *scn;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE || !name || !*name)
		return 0;
	scn = elf_getscn(elf, sym->st_shndx);
	if (!scn || !gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR))
		return 0;
	if (sym->st_value < sh.sh_addr || sym->st_value - sh.sh_addr >= sh.sh_size)
		return 0;
	fn.sized = sym->st_size != 0;
	fn.end = sh.sh_addr + sh.sh_size;
	if (fn.sized && sym->st_size < fn.end - fn.start)
		fn.end = fn.start + sym->st_size;
	fn.rank = rank_of(sym, name);
	return funcs_add(f, &fn, name, "");
}

int tables_symbols(struct funcs *f, Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int err = 0;

	while (!err && (scn = elf_nextscn(elf, scn))) {
		Elf_Data *d;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &sh) ||
		    (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM))
			continue;
		d = elf_file_data(scn, &sh);
		for (int i = 1; d && !err && gelf_getsym(d, i, &sym); i++)
			err = add_symbol(f, elf, &sym,
					 elf_strptr(elf, sh.sh_link, sym.st_name));
	}
	return err;
}

/* ---- the PLT ---- */

struct slot {
	u64 got;
	const char *name;
};

struct slots {
	struct slot *v;
	size_t n, cap;
};

static int compare_slots(const void *pa, const void *pb)
{
	const struct slot *a = pa, *b = pb;

	return a->got < b->got ? -1 : a->got > b->got;
}

static int collect_slots(struct slots *s, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Scn *syms = elf_getscn(elf, sh->sh_link);
	Elf_Data *rela = elf_file_data(scn, sh), *d;
	GElf_Shdr symsh;
	GElf_Rela r;
	GElf_Sym sym;
	int err;

	if (!syms || !gelf_getshdr(syms, &symsh) || symsh.sh_type != SHT_DYNSYM)
		return 0;
	d = elf_file_data(syms, &symsh);
	for (int i = 0; d && rela && gelf_getrela(rela, i, &r); i++) {
		u32 type = GELF_R_TYPE(r.r_info);
		const char *name;

		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
			continue;
		if (!gelf_getsym(d, GELF_R_SYM(r.r_info), &sym))
			continue;
		name = elf_strptr(elf, symsh.sh_link, sym.st_name);
		if (!name || !*name)
			continue;
		err = array_reserve(&s->v, &s->cap, s->n + 1, sizeof(*s->v));
		if (err)
			return err;
		s->v[s->n++] = (struct slot){r.r_offset, name};
	}
	return 0;
}

/*
 * The stub at @code, @left bytes before the section ends: endbr64 and a bnd
 * prefix may come before its jmp *got(%rip) (ff 25 rel32). The address of the
 * GOT slot, or 0.
 */
static u64 stub_slot(const u8 *code, size_t left, u64 addr)
{
	static const u8 endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;
	s32 rel;

	if (left >= sizeof(endbr) && !memcmp(code, endbr, sizeof(endbr)))
		at = sizeof(endbr);
	if (at < left && code[at] == 0xf2)
		at++;
	if (left < at + 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&rel, code + at + 2, sizeof(rel));
	return addr + at + 6 + rel;
}

static int name_stubs(struct funcs *f, const struct slots *s, Elf_Data *d,
		      const GElf_Shdr *sh)
{
	/* .plt.got has entries of 8 bytes; some linkers leave entsize 0. */
	size_t entry = sh->sh_entsize == 8 ? 8 : 16;
	int err = 0;

	for (size_t at = 0; !err && at + 6 <= d->d_size; at += entry) {
		struct func fn = {.start = sh->sh_addr + at,
				  .end = sh->sh_addr + at + entry,
				  .rank = 64,
				  .sized = true};
		struct slot key = {
			.got = stub_slot((u8 *)d->d_buf + at, d->d_size - at, fn.start)};
		const struct slot *slot =
			bsearch(&key, s->v, s->n, sizeof(key), compare_slots);

		if (slot)
			err = funcs_add(f, &fn, slot->name, "@plt");
	}
	return err;
}

int tables_plt(struct funcs *f, Elf *elf)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
	struct slots s = {0};
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int err = 0;

	while (!err && (scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA)
			err = collect_slots(&s, elf, scn, &sh);
	}
	if (s.n)
		qsort(s.v, s.n, sizeof(*s.v), compare_slots);
	for (size_t i = 0; s.n && !err && i < ARRAY_SIZE(sections); i++) {
		Elf_Data *d;

		scn = elf_file_section(elf, sections[i], &sh);
		d = elf_file_data(scn, &sh);
		if (d)
			err = name_stubs(f, &s, d, &sh);
	}
	free(s.v);
	return err;
}

/* ---- call frame information ---- */

/*
 * How the CIE @cie encodes code addresses in its FDEs. Of its augmentation
 * letters only what stands before 'R' has to be stepped over.
 */
static u8 pointer_encoding(const Dwarf_CIE *cie)
{
	struct rbuf b = rbuf_of(cie->augmentation_data, cie->augmentation_data_size);
	const char *a = cie->augmentation;

	if (*a++ != 'z')
		return DW_EH_PE_absptr;
	for (; *a; a++) {
		u8 enc;

		switch (*a) {
		case 'R':
			enc = rbuf_u8(&b);
			return b.err ? DW_EH_PE_omit : enc;
		case 'L':
			rbuf_u8(&b);
			break;
		case 'P':
			enc = rbuf_u8(&b) & 0x0f;
			if (enc == DW_EH_PE_absptr || enc == DW_EH_PE_udata8 ||
			    enc == DW_EH_PE_sdata8)
				rbuf_u64(&b);
			else if (enc == DW_EH_PE_udata4 || enc == DW_EH_PE_sdata4)
				rbuf_u32(&b);
			else
				return DW_EH_PE_omit;
			break;
		case 'S':
		case 'B':
			break;
		default:
			return DW_EH_PE_omit;
		}
	}
	return DW_EH_PE_absptr;
}

/* The range of an FDE whose start field lies at address @addr. */
static bool frame_range(const Dwarf_FDE *fde, u8 enc, u64 addr, struct func *fn)
{
	struct rbuf b = rbuf_of(fde->start, fde->end - fde->start);
	u64 base = (enc & 0x70) == DW_EH_PE_pcrel ? addr : 0, size;

	if ((enc & 0x70) != DW_EH_PE_pcrel && (enc & 0x70) != DW_EH_PE_absptr)
		return false;
	switch (enc & 0x0f) {
	case DW_EH_PE_sdata4:
		fn->start = base + (s64)(s32)rbuf_u32(&b);
		size = rbuf_u32(&b);
		break;
	case DW_EH_PE_udata4:
		fn->start = base + rbuf_u32(&b);
		size = rbuf_u32(&b);
		break;
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		fn->start = base + rbuf_u64(&b);
		size = rbuf_u64(&b);
		break;
	default:
		return false;
	}
	fn->end = fn->start + size;
	fn->sized = true;
	return !b.err;
}

int tables_frames(struct funcs *f, Elf *elf)
{
	GElf_Ehdr eh;
	GElf_Shdr sh;
	Elf_Data *d = elf_file_data(elf_file_section(elf, ".eh_frame", &sh), &sh);
	Dwarf_Off at = 0, next, cie_at = (Dwarf_Off)-1;
	u8 enc = DW_EH_PE_omit;
	Dwarf_CFI_Entry e;
	int err = 0, r;

	if (!d || !gelf_getehdr(elf, &eh))
		return 0;
	/* 1 is the end; -1 with a new offset is an entry to step over. */
	while ((r = dwarf_next_cfi(eh.e_ident, d, true, at, &next, &e)) != 1 && !err) {
		struct func fn = {0};
		char name[32];

		if (next <= at || next == (Dwarf_Off)-1)
			break;
		if (r == 0 && !dwarf_cfi_cie_p(&e)) {
			Dwarf_CFI_Entry cie;
			Dwarf_Off skip;

			if (e.fde.CIE_pointer != cie_at) {
				cie_at = e.fde.CIE_pointer;
				enc = DW_EH_PE_omit;
				if (!dwarf_next_cfi(eh.e_ident, d, true, cie_at, &skip,
						    &cie) &&
				    dwarf_cfi_cie_p(&cie))
					enc = pointer_encoding(&cie.cie);
			}
			if (frame_range(&e.fde, enc,
					sh.sh_addr + (e.fde.start - (u8 *)d->d_buf), &fn)) {
				snprintf(name, sizeof(name), "fn@%#" PRIx64, fn.start);
				err = funcs_add(f, &fn, name, "");
			}
		}
		at = next;
	}
	return err;
}
