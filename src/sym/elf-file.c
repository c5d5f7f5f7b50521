/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "sym/elf-file.h"

#define DEBUG_ROOT	 "/usr/lib/debug"
#define MAX_BUILD_ID	 64
#define MAX_SECTION_SIZE (1ULL << 31)

int elf_file_open(struct elf_file *f, const char *path)
{
	struct stat st;
	GElf_Ehdr eh;
	int err = -EBADMSG;

	*f = ELF_FILE_NONE;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOSYS;
	/* A recorded path may name a FIFO today: never wait in open. */
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0)
		return -errno;
	if (fstat(f->fd, &st) || !S_ISREG(st.st_mode))
		goto out;
	/* Not the mmap kind: a file that shrinks meanwhile must not be SIGBUS. */
	f->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF || !gelf_getehdr(f->elf, &eh))
		goto out;
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh.e_machine != EM_X86_64)
		goto out;
	return 0;
out:
	elf_file_close(f);
	return err;
}

void elf_file_close(struct elf_file *f)
{
	if (f->elf)
		elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	*f = ELF_FILE_NONE;
}

Elf_Scn *elf_file_section(Elf *elf, const char *name, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *s;

		if (!gelf_getshdr(scn, sh))
			continue;
		s = elf_strptr(elf, strings, sh->sh_name);
		if (s && !strcmp(s, name))
			return scn;
	}
	return NULL;
}

Elf_Data *elf_file_data(Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *d;

	if (!scn || sh->sh_type == SHT_NOBITS || sh->sh_size > MAX_SECTION_SIZE)
		return NULL;
	d = elf_getdata(scn, NULL);
	return d && d->d_buf && d->d_size ? d : NULL;
}

static size_t build_id(Elf *elf, u8 id[MAX_BUILD_ID])
{
	const void *bits;
	ssize_t n = dwelf_elf_gnu_build_id(elf, &bits);

	if (n < 2 || n > MAX_BUILD_ID)
		return 0;
	memcpy(id, bits, n);
	return n;
}

static bool has_build_id(Elf *elf, const u8 *id, size_t n)
{
	u8 other[MAX_BUILD_ID];

	return build_id(elf, other) == n && !memcmp(id, other, n);
}

static int find_by_build_id(struct elf_file *out, const u8 *id, size_t n)
{
	char path[sizeof(DEBUG_ROOT) + 32 + 2 * MAX_BUILD_ID];
	int at, err;

	at = snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < n; i++)
		at += snprintf(path + at, sizeof(path) - at, "%02x", id[i]);
	snprintf(path + at, sizeof(path) - at, ".debug");
	err = elf_file_open(out, path);
	if (err)
		return err;
	if (has_build_id(out->elf, id, n))
		return 0;
	elf_file_close(out);
	return -ENOENT;
}

/* The CRC of .gnu_debuglink is that of zlib and Ethernet. */
static int file_crc(int fd, u32 *out)
{
	u32 table[256], crc = ~0U;
	u8 buf[16384];
	off_t at = 0;
	ssize_t n;

	for (u32 i = 0; i < 256; i++) {
		table[i] = i;
		for (int k = 0; k < 8; k++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	while ((n = pread(fd, buf, sizeof(buf), at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			crc = crc >> 8 ^ table[(crc ^ buf[i]) & 0xff];
		at += n;
	}
	*out = ~crc;
	return n < 0 ? -errno : 0;
}

static bool link_fits(const struct elf_file *f, const u8 *id, size_t n_id, u32 want)
{
	u32 crc;

	if (n_id)
		return has_build_id(f->elf, id, n_id);
	return !file_crc(f->fd, &crc) && crc == want;
}

static int find_by_link(struct elf_file *out, Elf *elf, const char *name, const u8 *id,
			size_t n_id)
{
	static const char *const places[] = {
		"%.*s/%s",
		"%.*s/.debug/%s",
		DEBUG_ROOT "%.*s/%s",
	};
	const char *slash = strrchr(name, '/'), *link;
	char path[PATH_MAX];
	GElf_Word crc;

	link = dwelf_elf_gnu_debuglink(elf, &crc);
	if (!link || !*link || strchr(link, '/') || name[0] != '/' || strstr(name, "/../"))
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int n = snprintf(path, sizeof(path), places[i], (int)(slash - name), name,
				 link);

		if (n >= (int)sizeof(path) || elf_file_open(out, path))
			continue;
		if (link_fits(out, id, n_id, crc))
			return 0;
		elf_file_close(out);
	}
	return -ENOENT;
}

int elf_file_find_debug(struct elf_file *out, Elf *elf, const char *name)
{
	u8 id[MAX_BUILD_ID];
	size_t n = build_id(elf, id);

	*out = ELF_FILE_NONE;
	if (n && !find_by_build_id(out, id, n))
		return 0;
	return find_by_link(out, elf, name, id, n);
}
