// SPDX-License-Identifier: MIT OR GPL-2.0-or-later
/*
 * On the sampling event of a thread: where the program is, in registers and
 * print, without stopping it. src/point/print.c computes the same print.
 */
#include "bpf/kernel.h"
#include "bpf/print-hash.h"
#include "bpf/sample-record.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct task_struct;

/* The window read last and the hash of all up to it. */
struct window {
	u64 words[PRINT_WORDS];
	struct print_hash hash;
};

/* One page more than the stack part, so that the verifier, which knows offset
 * and length of a read only apart, sees every sum fit. */
struct scratch {
	u64 stack[(PRINT_STACK_BYTES + PRINT_PAGE + PRINT_BLOCK) / 8];
	struct pt_regs regs;
	u64 general[SAMPLE_RECORD_REGS];
	u64 stack_words;
	struct window outer, inner, slot;
	u64 slot_word[PRINT_WORDS];
	u32 reads;
	struct print print;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} ring SEC(".maps");

/* Samples that found the ring full. */
u64 lost;
/* The kernel's code from which every system call is made; 0, 0: not known. */
const volatile u64 entry_start, entry_end;

static __always_inline void regs_store(u64 *r, const struct pt_regs *p)
{
	r[0] = p->rax;
	r[1] = p->rbx;
	r[2] = p->rcx;
	r[3] = p->rdx;
	r[4] = p->rsi;
	r[5] = p->rdi;
	r[6] = p->rbp;
	r[7] = p->rsp;
	r[8] = p->r8;
	r[9] = p->r9;
	r[10] = p->r10;
	r[11] = p->r11;
	r[12] = p->r12;
	r[13] = p->r13;
	r[14] = p->r14;
	r[15] = p->r15;
	r[16] = p->rip;
	r[17] = p->eflags;
}

/*
 * The parts of the print are global functions: the verifier looks at each once,
 * alone, instead of at every path through all of them.
 */
__noinline int print_stack(struct scratch *s)
{
	struct print_hash h;
	u64 addr, done = 0;

	if (!s)
		return 0;
	s->stack_words = 0;
	addr = s->regs.rsp;
	for (int i = 0; i < PRINT_STACK_PIECES; i++) {
		u64 n = print_stack_piece(addr, done);

		if (!n || n > PRINT_PAGE || done > PRINT_STACK_BYTES)
			break;
		if (addr < PRINT_LOW || addr >= PRINT_HIGH)
			break;
		if (bpf_probe_read_user((void *)s->stack + done, n, (void *)addr))
			break;
		s->print.valid[0] |= PRINT_VALID_STACK(i);
		addr += n;
		done += n;
	}
	if (!done || done > PRINT_STACK_BYTES)
		return 0;
	__builtin_memset((void *)s->stack + done, 0, PRINT_BLOCK);
	print_hash_init(&h);
	for (u32 i = 0; i < PRINT_STACK_BYTES / PRINT_BLOCK; i++) {
		if (i * PRINT_BLOCK >= done)
			break;
		print_hash_block(&h, s->stack + i * PRINT_BLOCK_WORDS);
	}
	s->print.stack = print_hash_end(&h, done);
	s->stack_words = done / 8;
	return 0;
}

/* Add the window that @v may point to. 1: it was there. */
__noinline int window_take(struct window *w, u64 v, u64 rsp)
{
	u64 addr = print_window(v, rsp);

	if (!w || !addr)
		return 0;
	if (bpf_probe_read_user(w->words, PRINT_WINDOW, (void *)addr))
		return 0;
	print_hash_block(&w->hash, w->words);
	return 1;
}

/* The inner windows of window number @i. */
__noinline int print_inner(struct scratch *s, u32 i)
{
	if (!s)
		return 0;
	for (int k = 0; k < PRINT_WORDS; k++) {
		u32 bit = i * PRINT_WORDS + k;

		if (!window_take(&s->inner, s->outer.words[k], s->regs.rsp))
			continue;
		if (bit < 64)
			s->print.valid[1] |= 1UL << (bit & 63);
		else
			s->print.valid[2] |= 1UL << (bit & 63);
	}
	return 0;
}

__noinline int print_windows(struct scratch *s)
{
	if (!s)
		return 0;
	print_hash_init(&s->outer.hash);
	print_hash_init(&s->inner.hash);
	for (u32 i = 0; i < PRINT_WINDOWS; i++) {
		/* rsp stands between rbp and r8 and has no window. */
		if (!window_take(&s->outer, s->general[i < 7 ? i : i + 1], s->regs.rsp))
			continue;
		s->print.valid[0] |= PRINT_VALID_WINDOW(i);
		print_inner(s, i);
	}
	if (s->print.valid[0] & PRINT_VALID_WINDOWS)
		s->print.windows = print_hash_end(&s->outer.hash, 0);
	if (s->print.valid[1] | s->print.valid[2])
		s->print.inner = print_hash_end(&s->inner.hash, 0);
	return 0;
}

/* Is there a window at @addr already? */
__noinline int slot_skipped(struct scratch *s, u64 addr)
{
	if (!s)
		return 0;
	for (u32 i = 0; i < PRINT_WINDOWS; i++)
		if (addr == print_window(s->general[i < 7 ? i : i + 1], s->regs.rsp))
			return 1;
	return 0;
}

/* What slot number @i points to, and what that points to. */
__noinline int print_slot(struct scratch *s, u32 i)
{
	if (!s || i >= PRINT_SLOTS)
		return 0;
	s->reads++;
	if (!window_take(&s->slot, s->stack[i], s->regs.rsp)) {
		s->reads += PRINT_SLOT_FAULT - 1;
		return 0;
	}
	s->print.valid[3] |= 1UL << i;
	__builtin_memcpy(s->slot_word, s->slot.words, sizeof(s->slot_word));
	for (int k = 0; k < PRINT_WORDS; k++) {
		u64 v = s->slot_word[k];
		u32 bit = i * PRINT_WORDS + k;

		if (s->reads >= PRINT_SLOT_READS)
			break;
		if (!print_window(v, s->regs.rsp))
			continue;
		s->reads++;
		if (window_take(&s->slot, v, s->regs.rsp))
			s->print.valid[4 + (bit / 64 & 3)] |= 1UL << (bit & 63);
		else
			s->reads += PRINT_SLOT_FAULT - 1;
	}
	return 1;
}

__noinline int print_slots(struct scratch *s)
{
	u64 addr, before = 0;

	if (!s)
		return 0;
	print_hash_init(&s->slot.hash);
	s->reads = 0;
	for (u32 i = 0; i < PRINT_SLOTS; i++) {
		if (i >= s->stack_words || s->reads >= PRINT_SLOT_READS)
			break;
		addr = print_window(s->stack[i], s->regs.rsp);
		if (!addr || addr == before || slot_skipped(s, addr))
			continue;
		before = addr;
		print_slot(s, i);
	}
	if (s->print.valid[3])
		s->print.slots = print_hash_end(&s->slot.hash, 0);
	return 0;
}

/*
 * rt_sigreturn sets orig_rax to -1 while it is still in the kernel, and then
 * only the stack tells that this is a system call's way out, with registers
 * that no point before it has.
 */
static __always_inline int from_syscall_entry(const struct sample_record *rec)
{
	for (int i = 0; i < SAMPLE_RECORD_FRAMES; i++)
		if (rec->kernel[i] >= entry_start && rec->kernel[i] < entry_end)
			return 1;
	return 0;
}

static __always_inline void kernel_part(struct bpf_perf_event_data *ctx,
					struct sample_record *rec)
{
	long n = bpf_get_stack(ctx, rec->kernel, sizeof(rec->kernel), 0);

	rec->flags = SAMPLE_RECORD_KERNEL;
	if (n > 0)
		rec->n_kernel = n / 8;
	if ((s64)rec->orig_rax >= 0 || from_syscall_entry(rec))
		rec->flags |= SAMPLE_RECORD_SYSCALL;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 id = bpf_get_current_pid_tgid();
	struct sample_record *rec;
	struct scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	/* Also right for a sample in user mode: the entry code has moved the
	 * registers of the interrupt to the top of the thread's stack. */
	if (bpf_probe_read_kernel(&s->regs, sizeof(s->regs),
				  (void *)bpf_task_pt_regs(task)))
		return 0;
	/* The supervisor makes the thread run this, not the program. */
	if (s->regs.rip - PRINT_AGENT < PRINT_AGENT_SIZE)
		return 0;
	rec = bpf_ringbuf_reserve(&ring, sizeof(*rec), 0);
	if (!rec) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->time_ns = bpf_ktime_get_ns();
	rec->pid = id >> 32;
	rec->tid = id;
	regs_store(s->general, &s->regs);
	__builtin_memcpy(rec->regs, s->general, sizeof(rec->regs));
	rec->orig_rax = s->regs.orig_rax;
	/* regs.cs cannot be read from here; kernel code has the high half. */
	if ((s64)ctx->regs.rip < 0)
		kernel_part(ctx, rec);
	if (!(rec->flags & SAMPLE_RECORD_SYSCALL)) {
		__builtin_memset(&s->print, 0, sizeof(s->print));
		print_stack(s);
		print_windows(s);
		print_slots(s);
		rec->print = s->print;
	}
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}
