/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * world.c - threads, address spaces and shared objects at one moment, and
 * copies of all that.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "replay/replay.h"

struct world *world_new(void)
{
	return calloc(1, sizeof(struct world));
}

static void thread_free(struct thread *th)
{
	free(th->xstate);
	free(th);
}

static void space_free(struct space *s)
{
	if (s->stops)
		stops_free(s->stops);
	host_kill(s->host);
	maps_fini(&s->maps);
	free(s->exe);
	free(s->auxv);
	free(s);
}

void world_free(struct world *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n_threads; i++)
		thread_free(w->threads[i]);
	for (size_t i = 0; i < w->n_spaces; i++)
		space_free(w->spaces[i]);
	for (size_t i = 0; i < w->n_shares; i++)
		close(w->shares[i].fd);
	free(w->threads);
	free(w->spaces);
	free(w->shares);
	free(w);
}

struct thread *world_thread(const struct world *w, u32 tid)
{
	for (size_t i = 0; i < w->n_threads; i++)
		if (w->threads[i]->tid == tid)
			return w->threads[i];
	return NULL;
}

struct thread *world_process(const struct world *w, u32 pid)
{
	struct thread *th = world_thread(w, w->tid);

	if (th && th->pid == pid)
		return th;
	for (size_t i = 0; i < w->n_threads; i++)
		if (w->threads[i]->pid == pid)
			return w->threads[i];
	return NULL;
}

int world_add_thread(struct world *w, u32 tid, u32 pid, struct space *s,
		     struct thread **out)
{
	struct thread *th;
	int err;

	err = array_reserve(&w->threads, &w->cap_threads, w->n_threads + 1,
			    sizeof(w->threads[0]));
	if (err)
		return err;
	th = calloc(1, sizeof(*th));
	if (!th)
		return -ENOMEM;
	th->tid = tid;
	th->pid = pid;
	th->space = s;
	s->refs++;
	w->threads[w->n_threads++] = th;
	*out = th;
	return 0;
}

void world_del_thread(struct world *w, struct thread *th)
{
	for (size_t i = 0; i < w->n_threads; i++) {
		if (w->threads[i] != th)
			continue;
		w->threads[i] = w->threads[--w->n_threads];
		if (th->space->loaded == th)
			th->space->loaded = NULL;
		space_put(w, th->space);
		thread_free(th);
		return;
	}
}

int world_add_space(struct world *w, pid_t host, struct space **out)
{
	struct space *s;
	int err;

	err = array_reserve(&w->spaces, &w->cap_spaces, w->n_spaces + 1,
			    sizeof(w->spaces[0]));
	s = err ? NULL : calloc(1, sizeof(*s));
	if (!s) {
		host_kill(host);
		return -ENOMEM;
	}
	s->id = ++w->last_space;
	s->host = host;
	w->spaces[w->n_spaces++] = s;
	*out = s;
	return 0;
}

void space_put(struct world *w, struct space *s)
{
	if (--s->refs)
		return;
	for (size_t i = 0; i < w->n_spaces; i++) {
		if (w->spaces[i] != s)
			continue;
		w->spaces[i] = w->spaces[--w->n_spaces];
		break;
	}
	space_free(s);
}

struct share *world_share(struct world *w, u32 id)
{
	for (size_t i = 0; i < w->n_shares; i++)
		if (w->shares[i].id == id)
			return &w->shares[i];
	return NULL;
}

int world_add_share(struct world *w, u32 id, struct share **out)
{
	struct share *sh;
	int err, fd;

	err = array_reserve(&w->shares, &w->cap_shares, w->n_shares + 1,
			    sizeof(w->shares[0]));
	if (err)
		return err;
	fd = memfd_create("playhead-shared", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	sh = &w->shares[w->n_shares++];
	*sh = (struct share){.id = id, .fd = fd};
	*out = sh;
	return 0;
}

/* ---- one thread in the host ---- */

int space_unload(struct space *s)
{
	struct thread *th = s->loaded;
	int err;

	if (!th)
		return 0;
	if (!th->xstate) {
		th->xstate = malloc(XSTATE_MAX);
		if (!th->xstate)
			return -ENOMEM;
	}
	th->xstate_len = XSTATE_MAX;
	err = tracee_get_xstate(s->host, th->xstate, &th->xstate_len);
	if (!err)
		s->loaded = NULL;
	return err;
}

static int load_xstate(struct space *s, struct thread *th)
{
	if (!th->xstate)
		return host_init_xstate(s->host);
	return tracee_set_xstate(s->host, th->xstate, th->xstate_len);
}

int space_load(struct thread *th, enum stop_way force)
{
	struct space *s = th->space;
	int err = 0;

	if (!s->stops)
		err = stops_new(&s->stops, s->host, force);
	if (err)
		return err;
	if (s->loaded != th) {
		err = space_unload(s);
		if (!err)
			err = load_xstate(s, th);
		if (err)
			return err;
		s->loaded = th;
		s->dirty = true;
	}
	if (s->dirty) {
		struct regs r = th->regs;

		/* The call was played, not made: the kernel must not restart it. */
		r.r[X86_ORIG_RAX] = -1;
		err = tracee_set_regs(s->host, &r);
		if (!err)
			s->dirty = false;
	}
	return err;
}

void thread_set_regs(struct thread *th, const struct regs *regs)
{
	th->regs = *regs;
	if (th->space->loaded == th)
		th->space->dirty = true;
}

int thread_set_xstate(struct thread *th, const void *buf, size_t len)
{
	if (len > XSTATE_MAX)
		return -EBADMSG;
	if (th->space->loaded == th)
		return tracee_set_xstate(th->space->host, buf, len);
	if (!th->xstate)
		th->xstate = malloc(XSTATE_MAX);
	if (!th->xstate)
		return -ENOMEM;
	memcpy(th->xstate, buf, len);
	th->xstate_len = len;
	return 0;
}

int thread_get_xstate(struct thread *th, void *buf, size_t *len)
{
	if (th->space->loaded != th && !th->xstate) {
		int err = space_unload(th->space);

		if (!err)
			err = host_init_xstate(th->space->host);
		if (err)
			return err;
		return tracee_get_xstate(th->space->host, buf, len);
	}
	if (th->space->loaded == th)
		return tracee_get_xstate(th->space->host, buf, len);
	if (*len < th->xstate_len)
		return -ENOSPC;
	memcpy(buf, th->xstate, th->xstate_len);
	*len = th->xstate_len;
	return 0;
}

int space_read(struct space *s, u64 addr, void *buf, size_t n)
{
	return s->stops ? stops_read(s->stops, addr, buf, n)
			: tracee_read(s->host, addr, buf, n);
}

int space_write(struct space *s, u64 addr, const void *buf, size_t n)
{
	return s->stops ? stops_write(s->stops, addr, buf, n)
			: tracee_write(s->host, addr, buf, n);
}

int space_clean(struct space *s)
{
	return s->stops ? stops_clean(s->stops) : 0;
}

/* ---- copies ---- */

static int copy_share(struct world *w, const struct share *from)
{
	struct share *sh;
	off_t at = 0;
	int err;

	err = world_add_share(w, from->id, &sh);
	if (err)
		return err;
	if (ftruncate(sh->fd, from->size))
		return -errno;
	sh->size = from->size;
	while ((u64)at < from->size) {
		static char buf[1 << 16];
		ssize_t n = pread(from->fd, buf, sizeof(buf), at);

		if (n <= 0)
			return n ? -errno : -EIO;
		if (pwrite(sh->fd, buf, n, at) != n)
			return -EIO;
		at += n;
	}
	return 0;
}

static int copy_space(struct world *w, struct space *from, struct space **out)
{
	struct space *s;
	pid_t host;
	int err;

	err = space_clean(from);
	if (!err)
		err = space_unload(from);
	if (!err)
		err = host_fork(from->host, &host);
	if (!err)
		err = world_add_space(w, host, &s);
	if (err)
		return err;
	s->id = from->id;
	err = maps_copy(&s->maps, &from->maps);
	if (err)
		return err;
	if (from->exe && !(s->exe = strdup(from->exe)))
		return -ENOMEM;
	if (from->auxv_len) {
		s->auxv = malloc(from->auxv_len);
		if (!s->auxv)
			return -ENOMEM;
		memcpy(s->auxv, from->auxv, from->auxv_len);
		s->auxv_len = from->auxv_len;
	}
	for (size_t i = 0; w->n_shares && i < s->maps.n && !err; i++)
		if (s->maps.v[i].share)
			err = apply_map_share(w, s, &s->maps.v[i]);
	*out = s;
	return err;
}

static int copy_thread(struct world *w, const struct thread *from, struct space *s)
{
	struct thread *th;
	int err;

	err = world_add_thread(w, from->tid, from->pid, s, &th);
	if (err)
		return err;
	th->regs = from->regs;
	th->in_call = from->in_call;
	th->fresh = from->fresh;
	if (from->xstate) {
		th->xstate = malloc(XSTATE_MAX);
		if (!th->xstate)
			return -ENOMEM;
		memcpy(th->xstate, from->xstate, from->xstate_len);
		th->xstate_len = from->xstate_len;
	}
	return 0;
}

int world_fork(struct world *from, struct world **out)
{
	struct world *w = world_new();
	struct space *s;
	int err = w ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < from->n_shares; i++)
		err = copy_share(w, &from->shares[i]);
	for (size_t i = 0; !err && i < from->n_spaces; i++) {
		err = copy_space(w, from->spaces[i], &s);
		for (size_t k = 0; !err && k < from->n_threads; k++)
			if (from->threads[k]->space == from->spaces[i])
				err = copy_thread(w, from->threads[k], s);
	}
	if (err) {
		world_free(w);
		return err;
	}
	w->event = from->event;
	w->time_ns = from->time_ns;
	w->tid = from->tid;
	w->arrived = from->arrived;
	w->passed = from->passed;
	w->passing = from->passing;
	w->last_space = from->last_space;
	w->cost = from->cost;
	w->start_cost = from->start_cost;
	*out = w;
	return 0;
}
