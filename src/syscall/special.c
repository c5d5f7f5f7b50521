/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * special.c - calls whose arguments choose what is written: sub-tables.
 */
#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "syscall/syscall.h"
#include "tracee/tracee.h"

/* Commands and how many bytes they write at the third argument. */
struct by_cmd {
	u32 cmd;
	u16 size;
};

static const struct by_cmd *by_cmd_find(const struct by_cmd *t, size_t n, u64 cmd)
{
	for (size_t i = 0; i < n; i++)
		if (t[i].cmd == (u32)cmd)
			return &t[i];
	return NULL;
}

static int mem(const struct syscall_sink *s, u64 addr, u64 len)
{
	return addr && len ? s->mem(s->ctx, addr, len) : 0;
}

/* From before commands carried their size; newer ones are decoded. */
static const struct by_cmd old_ioctls[] = {
	{0x5401, 60 /* TCGETS */		},
	{0x5402, 0 /* TCSETS */	       },
	{0x5403, 0 /* TCSETSW */		},
	{0x5404, 0 /* TCSETSF */		},
	{0x5405, 18 /* TCGETA */		},
	{0x5406, 0		       },
	{0x5407, 0		       },
	{0x5408, 0		       },
	{0x5409, 0 /* TCSBRK */	       },
	{0x540a, 0 /* TCXONC */	       },
	{0x540b, 0 /* TCFLSH */	       },
	{0x540c, 0 /* TIOCEXCL */	 },
	{0x540d, 0 /* TIOCNXCL */	 },
	{0x540e, 0 /* TIOCSCTTY */	  },
	{0x540f, 4 /* TIOCGPGRP */	  },
	{0x5410, 0 /* TIOCSPGRP */	  },
	{0x5411, 4 /* TIOCOUTQ */	 },
	{0x5412, 0 /* TIOCSTI */		},
	{0x5413, 8 /* TIOCGWINSZ */	   },
	{0x5414, 0 /* TIOCSWINSZ */	   },
	{0x5415, 4 /* TIOCMGET */	 },
	{0x5416, 0		       },
	{0x5417, 0		       },
	{0x5418, 0		       },
	{0x5419, 4 /* TIOCGSOFTCAR */    },
	{0x541a, 0		       },
	{0x541b, 4 /* FIONREAD */	 },
	{0x541d, 0 /* TIOCCONS */	 },
	{0x541e, 72 /* TIOCGSERIAL */    },
	{0x5420, 0 /* TIOCPKT */		},
	{0x5421, 0 /* FIONBIO */		},
	{0x5422, 0 /* TIOCNOTTY */	  },
	{0x5423, 0 /* TIOCSETD */	 },
	{0x5424, 4 /* TIOCGETD */	 },
	{0x5425, 0 /* TCSBRKP */		},
	{0x5427, 0 /* TIOCSBRK */	 },
	{0x5428, 0 /* TIOCCBRK */	 },
	{0x5429, 4 /* TIOCGSID */	 },
	{0x5450, 0 /* FIONCLEX */	 },
	{0x5451, 0 /* FIOCLEX */		},
	{0x5452, 0 /* FIOASYNC */	 },
	{0x5456, 60 /* TIOCGLCKTRMIOS */ },
	{0x545d, 80 /* TIOCGICOUNT */    },
	{0x5460, 8 /* FIOQSIZE */	 },
	{0x1258, 0		       },
	{0x125e, 4 /* BLKROGET */	 },
	{0x1260, 8 /* BLKGETSIZE */	   },
	{0x1261, 0 /* BLKFLSBUF */	  },
	{0x1263, 8 /* BLKRAGET */	 },
	{0x1268, 4 /* BLKSSZGET */	  },
	{0x127b, 4 /* BLKPBSZGET */	   },
	{0x127c, 4 /* BLKDISCARDZEROES */},
	{0x8901, 0 /* FIOSETOWN */	  },
	{0x8903, 4 /* FIOGETOWN */	  },
	{0x8905, 4 /* SIOCATMARK */	   },
	{0x8906, 16 /* SIOCGSTAMP */	    },
	{0x8907, 16 /* SIOCGSTAMPNS */   },
};

/* Types whose commands carry neither direction nor size: unknown commands of
 * these are refused, since nobody can tell what they write. */
static bool old_type(u64 cmd)
{
	static const u8 types[] = {0x03, 0x12, 0x22, 0x4b, 0x53, 0x54, 0x56, 0x89};

	if (_IOC_DIR(cmd) || _IOC_SIZE(cmd))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (_IOC_TYPE(cmd) == types[i])
			return true;
	return false;
}

/* struct ifreq in and out: SIOCGIFNAME up to the last of the device ones. */
static bool is_ifreq(u64 cmd)
{
	return cmd >= SIOCGIFNAME && cmd <= 0x8970 && cmd != SIOCGIFCONF;
}

bool ioctl_refused(u64 cmd)
{
	if (!old_type(cmd) || is_ifreq(cmd) || cmd == SIOCGIFCONF)
		return false;
	return !by_cmd_find(old_ioctls, ARRAY_SIZE(old_ioctls), cmd);
}

static int copy_ifconf(const struct syscall_view *v, const struct syscall_sink *s)
{
	struct ifconf c;
	int err;

	if (tracee_read_some(v->tid, v->arg[2], &c, sizeof(c)) != sizeof(c))
		return 0;
	err = mem(s, v->arg[2], sizeof(c));
	return err ? err : mem(s, (u64)c.ifc_buf, c.ifc_len > 0 ? c.ifc_len : 0);
}

static int copy_fiemap(const struct syscall_view *v, const struct syscall_sink *s)
{
	struct fiemap f;

	if (tracee_read_some(v->tid, v->arg[2], &f, sizeof(f)) != sizeof(f))
		return 0;
	return mem(s, v->arg[2],
		   sizeof(f) + MIN(f.fm_mapped_extents, f.fm_extent_count) *
				       sizeof(struct fiemap_extent));
}

int copy_ioctl(const struct syscall_view *v, const struct syscall_sink *s)
{
	u32 cmd = v->arg[1];
	const struct by_cmd *c = by_cmd_find(old_ioctls, ARRAY_SIZE(old_ioctls), cmd);

	if (c)
		return mem(s, v->arg[2], c->size);
	if (cmd == SIOCGIFCONF)
		return copy_ifconf(v, s);
	if (cmd == FS_IOC_FIEMAP)
		return copy_fiemap(v, s);
	if (is_ifreq(cmd))
		return mem(s, v->arg[2], sizeof(struct ifreq));
	if (_IOC_DIR(cmd) & _IOC_READ)
		return mem(s, v->arg[2], _IOC_SIZE(cmd));
	return 0;
}

static const struct by_cmd fcntls[] = {
	{F_GETLK,		  sizeof(struct flock)},
	{F_OFD_GETLK,	      sizeof(struct flock)},
	{F_GETOWN_EX,	      8		       },
	{17 /* F_GETOWNER_UIDS */, 8		    },
	{F_GET_RW_HINT,		8			 },
	{F_GET_FILE_RW_HINT,	     8		      },
};

int copy_fcntl(const struct syscall_view *v, const struct syscall_sink *s)
{
	const struct by_cmd *c = by_cmd_find(fcntls, ARRAY_SIZE(fcntls), v->arg[1]);

	return c ? mem(s, v->arg[2], c->size) : 0;
}

static const struct by_cmd prctls[] = {
	{PR_GET_PDEATHSIG,	   4 },
	       {PR_GET_UNALIGN,		4 },
	    {PR_GET_FPEMU,	   4 },
	{PR_GET_FPEXC,	       4 },
	       {PR_GET_NAME,	     16},
	    {PR_GET_ENDIAN,	    4 },
	{PR_GET_TSC,	     4 },
	       {PR_GET_CHILD_SUBREAPER, 4 },
	    {PR_GET_TID_ADDRESS,	 8 },
};

int copy_prctl(const struct syscall_view *v, const struct syscall_sink *s)
{
	const struct by_cmd *c = by_cmd_find(prctls, ARRAY_SIZE(prctls), v->arg[0]);

	return c ? mem(s, v->arg[1], c->size) : 0;
}

int copy_arch_prctl(const struct syscall_view *v, const struct syscall_sink *s)
{
	switch (v->arg[0]) {
	case ARCH_GET_FS:
	case ARCH_GET_GS:
	case 0x1021: /* ARCH_GET_XCOMP_SUPP */
	case 0x1022: /* ARCH_GET_XCOMP_PERM */
		return mem(s, v->arg[1], 8);
	default:
		return 0;
	}
}

int copy_futex(const struct syscall_view *v, const struct syscall_sink *s)
{
	switch (v->arg[1] & FUTEX_CMD_MASK) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI:
		return mem(s, v->arg[0], 4);
	case FUTEX_WAKE_OP:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_CMP_REQUEUE_PI:
		return mem(s, v->arg[4], 4);
	default:
		return 0;
	}
}

int copy_semctl(const struct syscall_view *v, const struct syscall_sink *s)
{
	struct semid_ds ds;
	union {
		struct semid_ds *buf;
	} arg = {&ds};

	switch (v->arg[2] & ~0x100UL) { /* IPC_64 */
	case IPC_STAT:
	case SEM_STAT:
	case IPC_INFO:
	case SEM_INFO:
		return v->ret < 0 ? 0 : mem(s, v->arg[3], sizeof(ds));
	case GETALL:
		/* Not in the kernel's answer: how many there are. */
		if (v->ret < 0 || semctl((int)v->arg[0], 0, IPC_STAT, arg))
			return 0;
		return mem(s, v->arg[3], ds.sem_nsems * 2);
	default:
		return 0;
	}
}

int copy_getgroups(const struct syscall_view *v, const struct syscall_sink *s)
{
	return v->ret > 0 && v->arg[0] ? mem(s, v->arg[1], v->ret * 4) : 0;
}

int copy_name_to_handle(const struct syscall_view *v, const struct syscall_sink *s)
{
	u32 bytes;

	if (tracee_read_some(v->tid, v->arg[2], &bytes, 4) != 4)
		return 0;
	return mem(s, v->arg[2], 8 + MIN(bytes, 128U));
}
