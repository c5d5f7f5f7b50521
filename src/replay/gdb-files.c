/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gdb-files.c - the files that the program saw: kept copies under the names
 * they had, and the few of /proc that gdb asks for, made from the recording.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "gdbstub/codec.h"
#include "replay/gdb-host.h"

int host_object(void *ctx, enum gdb_object o, struct wbuf *out)
{
	struct gdb_host *h = ctx;
	const char *exe;
	const u8 *auxv;
	siginfo_t si;
	size_t n;
	int r;

	switch (o) {
	case GDB_AUXV:
		auxv = timeline_auxv(h->t, h->pid, &n);
		if (!auxv)
			return -ENODATA;
		wbuf_bytes(out, auxv, n);
		return 0;
	case GDB_EXEC_FILE:
		exe = timeline_exe(h->t, h->pid);
		if (!exe)
			return -ENODATA;
		put_str(out, exe);
		return 0;
	case GDB_SIGINFO:
		r = timeline_siginfo(h->t, &si);
		if (r < 0)
			return r;
		wbuf_bytes(out, &si, sizeof(si));
		return 0;
	}
	return -ENOSYS;
}

/* ---- /proc ---- */

static void put_map(struct gdb_host *h, const struct map *m, struct wbuf *out)
{
	const struct trace_file *f = m->file ? trace_reader_file(h->r, m->file) : NULL;
	size_t from = out->len;

	put_fmt(out, "%08llx-%08llx %c%c%c%c %08llx %02x:%02x %llu ",
		(unsigned long long)m->start, (unsigned long long)m->end,
		m->prot & PROT_READ ? 'r' : '-', m->prot & PROT_WRITE ? 'w' : '-',
		m->prot & PROT_EXEC ? 'x' : '-', m->flags & MAP_SHARED ? 's' : 'p',
		(unsigned long long)m->offset, f ? major(f->dev) : 0, f ? minor(f->dev) : 0,
		f ? (unsigned long long)f->ino : 0ULL);
	if (m->name && *m->name) {
		while (out->len - from < 73)
			put_str(out, " ");
		put_str(out, m->name);
	}
	put_str(out, "\n");
}

static int proc_maps(struct gdb_host *h, struct wbuf *out)
{
	const struct maps *maps = timeline_maps(h->t, h->pid);

	for (size_t i = 0; maps && i < maps->n; i++)
		put_map(h, &maps->v[i], out);
	return 0;
}

static int proc_auxv(struct gdb_host *h, struct wbuf *out)
{
	return host_object(h, GDB_AUXV, out);
}

static int proc_exe(struct gdb_host *h, struct wbuf *out)
{
	return host_object(h, GDB_EXEC_FILE, out);
}

static int proc_cwd(struct gdb_host *h, struct wbuf *out)
{
	put_str(out, trace_reader_meta(h->r)->cwd ?: "/");
	return 0;
}

static int proc_cmdline(struct gdb_host *h, struct wbuf *out)
{
	put_str(out, trace_reader_meta(h->r)->args ?: "");
	wbuf_u8(out, 0);
	return 0;
}

static int proc_comm(struct gdb_host *h, struct wbuf *out)
{
	const char *exe = timeline_exe(h->t, h->pid), *slash;

	slash = exe ? strrchr(exe, '/') : NULL;
	put_fmt(out, "%.15s\n", slash ? slash + 1 : exe ?: "?");
	return 0;
}

static const struct proc_file {
	const char *name;
	bool link;
	int (*make)(struct gdb_host *h, struct wbuf *out);
} proc_files[] = {
	{"auxv",	 false, proc_auxv	 },
	    {"cmdline", false, proc_cmdline},
	{"comm",	 false, proc_comm	 },
	    {"cwd",	    true,  proc_cwd	  },
	{"exe",	true,  proc_exe    },
	    {"maps",    false, proc_maps   },
};

/* "/proc/PID/NAME" and "/proc/PID/task/TID/NAME" of the served process. */
static const struct proc_file *proc_find(struct gdb_host *h, const char *path)
{
	unsigned pid, tid;
	int n = 0;

	if (sscanf(path, "/proc/%u/%n", &pid, &n) != 1 || !n || pid != h->pid)
		return NULL;
	path += n;
	n = 0;
	if (sscanf(path, "task/%u/%n", &tid, &n) == 1 && n)
		path += n;
	for (size_t i = 0; i < ARRAY_SIZE(proc_files); i++)
		if (!strcmp(path, proc_files[i].name))
			return &proc_files[i];
	return NULL;
}

/* ---- kept files ---- */

static const struct trace_file *kept_named(struct gdb_host *h, const char *name)
{
	const struct trace_file *f;

	for (u32 id = 1; (f = trace_reader_file(h->r, id)); id++)
		if (f->name && !strcmp(f->name, name) && f->kept && *f->kept)
			return f;
	return NULL;
}

/*
 * Programs name libraries as the linker was told (/lib64/ld-linux-x86-64.so.2),
 * the kernel by where they lie (/usr/lib/...): ask this machine, then guess
 * the usual merge of / and /usr.
 */
static const struct trace_file *kept_find(struct gdb_host *h, const char *path)
{
	const struct trace_file *f = kept_named(h, path);
	char real[PATH_MAX];

	if (!f && realpath(path, real))
		f = kept_named(h, real);
	if (!f && snprintf(real, sizeof(real), "/usr%s", path) < (int)sizeof(real))
		f = kept_named(h, real);
	return f;
}

int host_open(void *ctx, const char *path, struct gdb_file *f)
{
	struct gdb_host *h = ctx;
	const struct proc_file *p = proc_find(h, path);
	const struct trace_file *kept;
	char at[PATH_MAX];
	struct stat st;
	int r;

	if (p && !p->link) {
		f->st.mode = S_IFREG | 0444;
		return p->make(h, &f->mem);
	}
	kept = kept_find(h, p && p->link ? timeline_exe(h->t, h->pid) ?: "" : path);
	if (!kept)
		return -ENOENT;
	r = trace_reader_file_path(h->r, kept->id, at, sizeof(at));
	if (r < 0)
		return r;
	f->fd = open(at, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		return -errno;
	f->st = (struct gdb_stat){kept->dev, kept->ino, kept->mode, st.st_size};
	return 0;
}

int host_readlink(void *ctx, const char *path, struct wbuf *out)
{
	struct gdb_host *h = ctx;
	const struct proc_file *p = proc_find(h, path);

	if (p)
		return p->link ? p->make(h, out) : -EINVAL;
	return kept_find(h, path) ? -EINVAL : -ENOENT;
}
