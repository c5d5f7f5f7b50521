/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * exec.c - a new image: take out what replay could not repeat (vDSO, TSC,
 * CPUID), put in the agent, and write down all that is mapped.
 */
#include <asm/prctl.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "record/internal.h"

#ifndef ARCH_SET_CPUID
#define ARCH_SET_CPUID 0x1012
#endif
#define AT_RSEQ_FEATURE_SIZE_ 27
#define AT_RSEQ_ALIGN_	      28
#define MAX_AUXV	      512

struct line {
	u64 start, end, off;
	u32 prot, flags;
	char name[4096];
};

static bool parse(const char *text, struct line *l)
{
	char prot[8];
	int at = 0;

	l->name[0] = '\0';
	if (sscanf(text, "%lx-%lx %7s %lx %*s %*s %n", &l->start, &l->end, prot, &l->off,
		   &at) < 4)
		return false;
	if (at)
		snprintf(l->name, sizeof(l->name), "%.*s", (int)strcspn(text + at, "\n"),
			 text + at);
	l->prot = (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) |
		  (prot[2] == 'x' ? PROT_EXEC : 0);
	l->flags = prot[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	return true;
}

/* Every line of /proc/TID/maps, read whole first: what @fn does changes it. */
static int each_line(pid_t tid, int (*fn)(struct session *, struct task *, struct line *),
		     struct session *s, struct task *t)
{
	char path[40], *text = NULL, *p, *end;
	struct line *l = malloc(sizeof(*l));
	size_t n = 0;
	FILE *f;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	f = fopen(path, "re");
	if (!f || !l || getdelim(&text, &n, '\0', f) < 0)
		err = -ESRCH;
	for (p = text; !err && p && *p; p = end) {
		end = strchrnul(p, '\n');
		end += *end == '\n';
		if (parse(p, l))
			err = fn(s, t, l);
	}
	if (f)
		fclose(f);
	free(text);
	free(l);
	return err;
}

/* ---- auxv ---- */

/* Hide entries on the stack; returns the bytes of the vector. */
static int fix_auxv(struct task *t, Elf64_auxv_t *v, size_t *len)
{
	u64 at = t->regs.r[X86_RSP], word;
	size_t n;
	int err;

	err = tracee_read(t->tid, at, &word, 8);
	if (err)
		return err;
	at += 8 * (word + 2);
	do {
		err = tracee_read(t->tid, at, &word, 8);
		at += 8;
	} while (!err && word);
	if (err)
		return err;
	n = tracee_read_some(t->tid, at, v, MAX_AUXV * sizeof(*v)) / sizeof(*v);
	for (*len = 0; *len < n && v[*len].a_type != AT_NULL; ++*len)
		switch (v[*len].a_type) {
		case AT_SYSINFO_EHDR:
		case AT_RSEQ_FEATURE_SIZE_:
		case AT_RSEQ_ALIGN_:
			v[*len].a_type = AT_IGNORE;
			v[*len].a_un.a_val = 0;
		}
	if (*len == n)
		return -EBADMSG;
	*len = (*len + 1) * sizeof(*v);
	return tracee_write(t->tid, at, v, *len);
}

/* ---- what must go ---- */

static int unmap_vdso(struct session *s, struct task *t, struct line *l)
{
	s64 ret;

	(void)s;
	if (strncmp(l->name, "[vdso]", 6) && strncmp(l->name, "[vvar", 5))
		return 0;
	return tracee_syscall(t->tid, &ret, SYS_munmap, l->start, l->end - l->start, 0, 0,
			      0, 0);
}

static int prepare(struct session *s, struct task *t)
{
	s64 ret;
	int err;

	err = tracee_map_agent(t->tid, 0);
	if (!err)
		err = each_line(t->tid, unmap_vdso, s, t);
	if (!err)
		err = tracee_syscall(t->tid, &ret, SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0,
				     0, 0, 0);
	/* A new image may execute CPUID again; a CPU without faulting says
	 * ENODEV and shows its own values, which the trace then has as is. */
	if (!err)
		err = tracee_syscall(t->tid, &ret, SYS_arch_prctl, ARCH_SET_CPUID, 0, 0, 0,
				     0, 0);
	if (!err)
		err = tracee_syscall(t->tid, &ret, SYS_brk, 0, 0, 0, 0, 0, 0);
	if (!err)
		t->mm->brk = ret;
	return err;
}

/* ---- what is there ---- */

/* Pages of a private file mapping that are not as in the file: the loader's
 * zeroing of the last page, mostly. */
static int differing(struct session *s, const struct line *l, int fd)
{
	u8 have[PAGE_BYTES], page[PAGE_BYTES];
	int err = 0;

	for (u64 a = l->start; a < l->end && !err; a += PAGE_BYTES) {
		if (tracee_read_some(s->fx.tid, a, have, PAGE_BYTES) != PAGE_BYTES)
			continue;
		memset(page, 0, sizeof(page));
		if (pread(fd, page, sizeof(page), l->off + (a - l->start)) < 0)
			return -errno;
		if (memcmp(have, page, sizeof(page)))
			err = effects_bytes(&s->fx, a, have, PAGE_BYTES);
	}
	return err;
}

static int open_mapped(struct task *t, const struct line *l)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", t->tid, l->start,
		 l->end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/root%s", t->tid, l->name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

/* Not prlimit(): for a program whose group its file has set (setgid), that asks
 * for CAP_SYS_RESOURCE; /proc/TID/limits is open to all (fs/proc/base.c). */
int exec_stack_limit(pid_t tid, u64 *bytes)
{
	char line[128], path[40];
	int err = -ENODATA;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/limits", tid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (err && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Max stack size %lu", bytes) == 1)
			err = 0;
		else if (!strncmp(line, "Max stack size ", 15)) {
			*bytes = RLIM_INFINITY;
			err = 0;
		}
	}
	fclose(f);
	return err;
}

static int add_anonymous(struct session *s, const struct line *l)
{
	bool stack = !strcmp(l->name, "[stack]");
	u64 start = l->start, limit;
	struct effect *e;
	int err;

	if (stack) {
		/* It grows by faults, which replay does not have: all of it. */
		err = exec_stack_limit(s->fx.tid, &limit);
		if (err)
			return err;
		start = PAGE_UP(l->end - MIN(limit, STACK_MAX));
		start = MIN(start, l->start);
		task_find(s, s->fx.tid)->mm->stack_low = start;
		task_find(s, s->fx.tid)->mm->stack_end = l->end;
	}
	e = effects_add(&s->fx, EF_MAP, start, l->end - start);
	if (!e)
		return -ENOMEM;
	e->map.prot = l->prot;
	e->map.flags = MAP_PRIVATE | MAP_ANONYMOUS | (stack ? MAP_GROWSDOWN : 0);
	e->map.name = stack ? "[stack]" : !strcmp(l->name, "[heap]") ? "[heap]" : "";
	return effects_nonzero(&s->fx, l->start, l->end - l->start);
}

static int add_line(struct session *s, struct task *t, struct line *l)
{
	int fd, err;

	if (l->start >= AGENT_BASE && l->start < AGENT_BASE + AGENT_SIZE)
		return 0;
	if (!strcmp(l->name, "[vsyscall]"))
		return 0;
	if (l->name[0] != '/')
		return add_anonymous(s, l);
	fd = open_mapped(t, l);
	if (fd < 0)
		return fd;
	err = keep_mapping(s, fd, l->start, l->end - l->start, l->prot, l->flags, l->off,
			   effects_name(&s->fx, l->name));
	if (!err && (l->prot & PROT_WRITE))
		err = differing(s, l, fd);
	close(fd);
	return err;
}

int exec_image(struct session *s, struct task *t)
{
	Elf64_auxv_t auxv[MAX_AUXV];
	struct event ev = {.type = EV_EXEC, .has_after = true, .auxv = (u8 *)auxv};
	u8 xstate[XSTATE_MAX];
	size_t len = 0, xlen = sizeof(xstate);
	char link[40], exe[4096];
	ssize_t got;
	int err;

	err = tracee_get_regs(t->tid, &t->regs);
	if (!err)
		err = fix_auxv(t, auxv, &len);
	if (!err)
		err = prepare(s, t);
	if (err)
		return err;
	t->regs.r[X86_ORIG_RAX] = -1;
	effects_reset(&s->fx, t->tid);
	err = each_line(t->tid, add_line, s, t);
	if (!err)
		err = tracee_get_xstate(t->tid, xstate, &xlen);
	if (err)
		return err;
	snprintf(link, sizeof(link), "/proc/%d/exe", t->tid);
	got = readlink(link, exe, sizeof(exe) - 1);
	exe[got > 0 ? got : 0] = '\0';
	ev.exe = exe;
	ev.auxv_len = len;
	ev.regs = t->regs;
	ev.regs_after = t->regs;
	ev.xstate = xstate;
	ev.xstate_len = xlen;
	effects_seal(&s->fx, &ev);
	emit(s, t, &ev);
	return 0;
}
