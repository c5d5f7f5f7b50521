/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * copyout.c - interpret the rules of a call: which memory did it write?
 */
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "syscall/syscall.h"
#include "tracee/tracee.h"

#define MAX_IOV 1024

void syscall_enter(const struct syscall_info *i, struct syscall_view *v)
{
	for (int k = 0; k < SYSCALL_MAX_RULES; k++) {
		const struct syscall_rule *r = &i->rules[k];
		u32 len = 0;

		if (r->kind != RULE_SOCK || !v->arg[r->arg2])
			continue;
		if (tracee_read_some(v->tid, v->arg[r->arg2], &len, 4) != 4)
			len = 0;
		v->len_before[r->arg2] = len;
	}
}

static int report(const struct syscall_view *v, const struct syscall_sink *s, int fd,
		  u64 addr, u64 len)
{
	(void)v;
	if (!addr || !len)
		return 0;
	return fd < 0 ? s->mem(s->ctx, addr, len) : s->output(s->ctx, fd, addr, len);
}

/* The first @bytes bytes over @n iovecs at @addr; to @fd, or -1: written. */
static int over_iov(const struct syscall_view *v, const struct syscall_sink *s, u64 addr,
		    u64 n, u64 bytes, int fd)
{
	struct iovec iov[64];
	int err = 0;

	n = MIN(n, (u64)MAX_IOV);
	while (n && bytes && !err) {
		u64 k = MIN(n, ARRAY_SIZE(iov));

		if (tracee_read_some(v->tid, addr, iov, k * sizeof(*iov)) !=
		    k * sizeof(*iov))
			return 0;
		for (u64 i = 0; i < k && bytes && !err; i++) {
			u64 part = MIN(bytes, iov[i].iov_len);

			err = report(v, s, fd, (u64)iov[i].iov_base, part);
			bytes -= part;
		}
		addr += k * sizeof(*iov);
		n -= k;
	}
	return err;
}

static int over_msg(const struct syscall_view *v, const struct syscall_sink *s, u64 addr,
		    u64 bytes, int fd)
{
	struct msghdr m;
	int err;

	if (tracee_read_some(v->tid, addr, &m, sizeof(m)) != sizeof(m))
		return 0;
	if (fd >= 0)
		return over_iov(v, s, (u64)m.msg_iov, m.msg_iovlen, bytes, fd);
	/* The header first: its lengths and flags are outputs too. The kernel has
	 * cut msg_namelen and msg_controllen to what it wrote; a name cut short
	 * leaves a length above the buffer's, which costs bytes only. */
	err = report(v, s, -1, addr, sizeof(m));
	if (!err)
		err = report(v, s, -1, (u64)m.msg_name,
			     MIN((u64)m.msg_namelen, sizeof(struct sockaddr_storage)));
	if (!err)
		err = report(v, s, -1, (u64)m.msg_control, m.msg_controllen);
	/* MSG_TRUNC makes ret the datagram's length: the iovecs bound it. */
	if (!err)
		err = over_iov(v, s, (u64)m.msg_iov, m.msg_iovlen, bytes, -1);
	return err;
}

static int over_mmsg(const struct syscall_view *v, const struct syscall_sink *s, u64 addr,
		     u64 n, bool received)
{
	int err = 0;

	for (u64 i = 0; i < MIN(n, (u64)MAX_IOV) && !err; i++) {
		u64 at = addr + i * sizeof(struct mmsghdr);
		u32 len = 0;

		err = report(v, s, -1, at + offsetof(struct mmsghdr, msg_len), 4);
		if (err || !received)
			continue;
		if (tracee_read_some(v->tid, at + offsetof(struct mmsghdr, msg_len), &len,
				     4) == 4)
			err = over_msg(v, s, at, len, -1);
	}
	return err;
}

static int sock(const struct syscall_view *v, const struct syscall_sink *s,
		const struct syscall_rule *r)
{
	u32 after = 0;
	int err;

	if (!v->arg[r->arg] || !v->arg[r->arg2])
		return 0;
	if (tracee_read_some(v->tid, v->arg[r->arg2], &after, 4) != 4)
		return 0;
	err = report(v, s, -1, v->arg[r->arg], MIN((u64)after, v->len_before[r->arg2]));
	return err ? err : report(v, s, -1, v->arg[r->arg2], 4);
}

/* How much of a buffer a call that returned a count has filled: recvfrom with
 * MSG_TRUNC returns more than the buffer holds; its third argument bounds it. */
static u64 counted(const struct syscall_view *v, const struct syscall_rule *r)
{
	u64 n = v->ret > 0 ? (u64)v->ret * r->size : 0;

	return r->size == 1 && v->nr == SYS_recvfrom ? MIN(n, v->arg[2]) : n;
}

static int apply(const struct syscall_view *v, const struct syscall_sink *s,
		 const struct syscall_rule *r)
{
	u64 a = v->arg[r->arg], b = v->arg[r->arg2];
	u64 got = v->ret > 0 ? v->ret : 0;

	switch ((enum syscall_rule_kind)r->kind) {
	case RULE_NONE:
		return 0;
	case RULE_OUT:
		return report(v, s, -1, a, r->size);
	case RULE_RET:
		return report(v, s, -1, a, counted(v, r));
	case RULE_LEN:
		return report(v, s, -1, a, MIN(b, 1UL << 24) * r->size);
	case RULE_RET_PLUS:
		return v->ret < 0 ? 0 : report(v, s, -1, a, got + r->size);
	case RULE_SOCK:
		return sock(v, s, r);
	case RULE_IOV:
		return over_iov(v, s, a, b, got, -1);
	case RULE_MSG:
		return v->ret < 0 ? 0 : over_msg(v, s, a, got, -1);
	case RULE_MMSG:
		return over_mmsg(v, s, a, got, true);
	case RULE_MMSG_LEN:
		return over_mmsg(v, s, a, got, false);
	case RULE_FDSET:
		return report(v, s, -1, a, (MIN(b, 1UL << 20) + 63) / 64 * 8);
	case RULE_PAGES:
		return report(v, s, -1, a, PAGE_UP(b) / PAGE_BYTES);
	case RULE_WRITE:
		return report(v, s, (int)b, a, got);
	case RULE_WRITE_IOV:
		return over_iov(v, s, a, b, got, (int)v->arg[0]);
	case RULE_WRITE_MSG:
		return over_msg(v, s, a, got, (int)b);
	case RULE_CALL:
		return r->copy(v, s);
	}
	return 0;
}

int syscall_leave(const struct syscall_info *i, const struct syscall_view *v,
		  const struct syscall_sink *s)
{
	int err = 0;

	for (int k = 0; k < SYSCALL_MAX_RULES && !err; k++)
		err = apply(v, s, &i->rules[k]);
	return err;
}
