// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Conditions looked at in the kernel: a hardware breakpoint as a perf event
 * whose BPF program (bpf/stop.bpf.c) suppresses the SIGTRAP of a pass that
 * nobody wants. Linux 6.10 made it honour the program's 0.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "stop/internal.h"

#include "config.h"

#ifdef HAVE_BPF
#include <bpf/libbpf.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bpf/stop.h"
#include "bpf/stop.skel.h"

_Static_assert(BPF_STOP_REGS == X86_EFLAGS + 1, "the order of enum reg");
_Static_assert(BPF_STOP_WORDS == POINT_MAX_WORDS, "all words of a condition");

struct bpf_stops {
	struct stop_bpf *skel;
	int fd[BPF_STOP_SLOTS];
	int dr[BPF_STOP_SLOTS];
	s8 cond[BPF_STOP_SLOTS][BPF_STOP_CONDS]; /* which are in the slot */
};

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static int program_load(struct stop_bpf **out)
{
	libbpf_print_fn_t before = libbpf_set_print(quiet);
	struct stop_bpf *skel = stop_bpf__open_and_load();
	int err = skel ? 0 : -errno;

	libbpf_set_print(before);
	*out = skel;
	return err;
}

static int event_open(pid_t tid, u64 ip, const struct stop_bpf *skel)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(a),
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = ip,
		.bp_len = sizeof(long),
		.sample_period = 1,
		.exclude_kernel = 1,
		.sigtrap = 1,
		.remove_on_exec = 1, /* the kernel wants it with sigtrap */
	};
	int fd = syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(skel->progs.on_breakpoint))) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int bpf_open(struct stops *s)
{
	struct bpf_stops *b;
	int err;

	if (s->bpf)
		return 0;
	if (s->bpf_failed)
		return -ENOTSUP;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	err = program_load(&b->skel);
	if (err) {
		free(b);
		s->bpf_failed = true;
		return err;
	}
	for (int i = 0; i < BPF_STOP_SLOTS; i++)
		b->fd[i] = -1;
	s->bpf = b;
	return 0;
}

static void fill_cond(struct bpf_stop_cond *out, const struct cond *c)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->regs, c->c.regs.r, sizeof(out->regs));
	out->regs[X86_RIP] = c->c.ip;
	out->regs[X86_EFLAGS] &= EFLAGS_USER;
	if (c->c.match_regs)
		out->compare = ((1u << BPF_STOP_REGS) - 1) & ~c->c.ignore;
	out->n_words = c->c.n_words;
	for (u32 i = 0; i < c->c.n_words; i++)
		out->words[i] =
			(struct bpf_stop_word){c->c.words[i].addr, c->c.words[i].value};
	out->count = c->count;
	out->pass = c->c.pass;
	out->count_only = c->c.count_only;
}

static int fill_slot(struct stops *s, int i, const struct site *site)
{
	struct bpf_stop_slot *slot = &s->bpf->skel->bss->slots[i];

	memset(slot, 0, sizeof(*slot));
	for (int k = 0; k < STOPS_MAX_CONDS; k++) {
		if (!(site->conds & 1UL << k))
			continue;
		if (slot->n_conds == BPF_STOP_CONDS)
			return -E2BIG;
		s->bpf->cond[i][slot->n_conds] = k;
		fill_cond(&slot->conds[slot->n_conds++], &s->conds[k]);
	}
	slot->ip = site->ip;
	return 0;
}

int bpf_arm(struct stops *s, struct site *site)
{
	struct bpf_stops *b;
	int err, i, dr;

	if (site->execs)
		return -ENOTSUP;
	err = bpf_open(s);
	if (err)
		return err;
	b = s->bpf;
	for (i = 0; i < BPF_STOP_SLOTS && b->fd[i] >= 0; i++)
		;
	if (i == BPF_STOP_SLOTS)
		return -ENOSPC;
	err = fill_slot(s, i, site);
	if (err)
		return err;
	dr = debugreg_take(s, DR_BPF);
	if (dr < 0)
		return dr;
	b->fd[i] = event_open(s->tid, site->ip, b->skel);
	if (b->fd[i] < 0) {
		err = b->fd[i];
		b->fd[i] = -1;
		b->skel->bss->slots[i].ip = 0;
		debugreg_free(s, dr);
		return err;
	}
	b->dr[i] = dr;
	site->kind = SITE_BPF;
	site->slot = i;
	return 0;
}

void bpf_disarm(struct stops *s)
{
	if (!s->bpf)
		return;
	for (int i = 0; i < BPF_STOP_SLOTS; i++) {
		if (s->bpf->fd[i] < 0)
			continue;
		close(s->bpf->fd[i]);
		s->bpf->fd[i] = -1;
		s->bpf->skel->bss->slots[i].ip = 0;
		debugreg_free(s, s->bpf->dr[i]);
	}
}

void bpf_fini(struct stops *s)
{
	if (!s->bpf)
		return;
	bpf_disarm(s);
	stop_bpf__destroy(s->bpf->skel);
	free(s->bpf);
	s->bpf = NULL;
}

static void each_count(struct stops *s, bool pull)
{
	for (int i = 0; s->bpf && i < BPF_STOP_SLOTS; i++) {
		struct bpf_stop_slot *slot = &s->bpf->skel->bss->slots[i];

		if (s->bpf->fd[i] < 0)
			continue;
		for (u32 k = 0; k < slot->n_conds; k++) {
			struct cond *c = &s->conds[s->bpf->cond[i][k]];

			if (pull)
				c->count = slot->conds[k].count;
			else
				slot->conds[k].count = c->count;
		}
	}
}

void bpf_pull(struct stops *s)
{
	each_count(s, true);
}

void bpf_push(struct stops *s)
{
	each_count(s, false);
}

void bpf_settle(struct stops *s, const struct site *site)
{
	const struct bpf_stop_slot *slot = &s->bpf->skel->bss->slots[site->slot];

	for (u32 k = 0; k < slot->n_conds; k++) {
		struct cond *c = &s->conds[s->bpf->cond[site->slot][k]];

		/* A page that was not resident there can be read from here. */
		if (slot->unsure & 1u << k)
			continue;
		c->seen = true;
		c->held = slot->hit & 1u << k && !c->c.count_only &&
			  (!c->c.pass || c->count == c->c.pass);
		if (c->held)
			eval_confirm(s, c);
		c->due = c->held;
	}
}

/* 0 suppresses the SIGTRAP since 6.10; before, it only suppresses the record. */
static bool kernel_honours(void)
{
	unsigned major, minor;
	struct utsname u;

	if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return false;
	return major > 6 || (major == 6 && minor >= 10);
}

int bpf_probe(char *why, size_t n)
{
	struct stop_bpf *skel = NULL;
	int err, fd;

	if (!kernel_honours()) {
		snprintf(why, n, "needs Linux 6.10");
		return -ENOTSUP;
	}
	err = program_load(&skel);
	if (err) {
		snprintf(why, n, "cannot load the BPF program: %s", strerror(-err));
		return err;
	}
	/* An address that is never run. */
	fd = event_open(0, (u64)stops_new + 1, skel);
	if (fd < 0)
		snprintf(why, n, "no hardware breakpoint with BPF: %s", strerror(-fd));
	else
		close(fd);
	stop_bpf__destroy(skel);
	return fd < 0 ? fd : 0;
}

#else

int bpf_arm(struct stops *s, struct site *site)
{
	return -ENOTSUP;
}

void bpf_disarm(struct stops *s)
{
}

void bpf_fini(struct stops *s)
{
}

void bpf_pull(struct stops *s)
{
}

void bpf_push(struct stops *s)
{
}

void bpf_settle(struct stops *s, const struct site *site)
{
}

int bpf_probe(char *why, size_t n)
{
	snprintf(why, n, "built with --disable-bpf");
	return -ENOTSUP;
}

#endif

int stops_probe(enum stop_way way, char *why, size_t n)
{
	if (n)
		why[0] = '\0';
	return way == STOP_BPF ? bpf_probe(why, n) : 0;
}
