/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <Zydis/Zydis.h>

#include "stop/relocate.h"

enum kind {
	PLAIN, /* the bytes as they are, but for a RIP-relative operand */
	JCC,
	JCXZ, /* and loop: they have no rel32 form */
	JMP,
	CALL,
	CALL_MEM, /* call through a register or memory */
};

/*
 * One-byte opcodes that cannot complete in 64-bit user mode: int3 traps, the
 * legacy ones are #UD, the privileged ones #GP, whatever bytes follow.
 */
const u8 pun_bytes[] = {
	0xcc, 0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f,
	0x60, 0x61, 0x6c, 0x6d, 0x6e, 0x6f, 0x9a, 0xce, 0xd4, 0xd6, 0xe4, 0xe5,
	0xe6, 0xe7, 0xea, 0xec, 0xed, 0xee, 0xef, 0xf4, 0xfa, 0xfb,
};
const unsigned n_pun_bytes = ARRAY_SIZE(pun_bytes);

/* Instructions whose meaning hangs on where they stand, or that end an
 * interval: the supervisor must see them at their own address. */
static bool refused(const ZydisDecodedInstruction *i)
{
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return true;
	default:
		return i->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
	}
}

static int classify_branch(struct code_insn *in, const ZydisDecodedInstruction *i)
{
	bool data16 = i->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE;

	in->cond = i->opcode;
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
		in->kind = CALL;
		/* Calls of __tls_get_addr are padded so; REX.W overrides it. */
		data16 &= !i->raw.rex.W;
		break;
	case ZYDIS_MNEMONIC_JMP:
		in->kind = JMP;
		break;
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		in->kind = JCXZ;
		in->loops = true;
		if (i->address_width == 32)
			return -ENOTSUP;
		break;
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
		in->kind = JCXZ;
		in->addr32 = i->address_width == 32;
		break;
	default:
		in->kind = JCC;
	}
	/* A 66h prefix would make it a 16-bit jump on some processors. */
	return data16 ? -ENOTSUP : 0;
}

/* A call through memory at rsp reads it before the push, its copy after. */
static int classify_call(struct code_insn *in, const ZydisDecodedInstruction *i,
			 const ZydisDecodedOperand *o)
{
	in->kind = CALL_MEM;
	if (!in->modrm)
		return -ENOTSUP;
	if (o->type == ZYDIS_OPERAND_TYPE_REGISTER)
		return o->reg.value == ZYDIS_REGISTER_RSP ? -ENOTSUP : 0;
	if (o->mem.base != ZYDIS_REGISTER_RSP)
		return 0;
	if (i->raw.disp.size != 8 || o->mem.disp.value + 8 > INT8_MAX)
		return -ENOTSUP;
	in->rsp_disp = i->raw.disp.offset;
	return 0;
}

static int classify(struct code_insn *in, u64 addr, const ZydisDecodedInstruction *i,
		    const ZydisDecodedOperand *ops)
{
	if (i->attributes & ZYDIS_ATTRIB_HAS_MODRM)
		in->modrm = i->raw.modrm.offset;
	if (i->attributes & ZYDIS_ATTRIB_IS_RELATIVE && i->raw.disp.size == 32 &&
	    i->raw.modrm.mod == 0 && i->raw.modrm.rm == 5)
		in->disp = i->raw.disp.offset;
	if (i->raw.imm[0].is_relative) {
		in->target = addr + i->length + (u64)i->raw.imm[0].value.s;
		return classify_branch(in, i);
	}
	return i->mnemonic == ZYDIS_MNEMONIC_CALL ? classify_call(in, i, &ops[0]) : 0;
}

static bool ends_flow(const ZydisDecodedInstruction *i)
{
	return i->mnemonic == ZYDIS_MNEMONIC_JMP || i->mnemonic == ZYDIS_MNEMONIC_RET ||
	       i->mnemonic == ZYDIS_MNEMONIC_UD2;
}

/* Behind a jump or a return may stand padding that never runs. If it is run
 * all the same, its copy does what it would have done: it ends the program. */
static bool is_padding(const ZydisDecodedInstruction *i)
{
	return i->mnemonic == ZYDIS_MNEMONIC_INT3 || i->mnemonic == ZYDIS_MNEMONIC_HLT;
}

static int decode_one(struct code_window *w, const ZydisDecoder *d, const u8 *code,
		      size_t n)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	struct code_insn *in = &w->insns[w->n];
	ZydisDecodedInstruction i;
	int err;

	if (w->len >= n || w->n == WINDOW_INSNS ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(d, code + w->len, n - w->len, &i, ops)))
		return -ENOTSUP;
	*in = (struct code_insn){.at = w->len, .len = i.length};
	if (refused(&i) && !(is_padding(&i) && !w->open))
		return -ENOTSUP;
	err = classify(in, w->addr + w->len, &i, ops);
	if (err)
		return err;
	if (ends_flow(&i))
		w->open = false;
	else if (!is_padding(&i))
		w->open = true;
	w->len += i.length;
	w->n++;
	return 0;
}

/* A call comes back to what follows it. */
static bool follows_call(const struct code_window *w)
{
	return w->n &&
	       (w->insns[w->n - 1].kind == CALL || w->insns[w->n - 1].kind == CALL_MEM);
}

int code_decode(struct code_window *w, u64 addr, const u8 *code, size_t n, code_hot_fn hot,
		void *ctx)
{
	ZydisDecoder d;

	memset(w, 0, sizeof(*w));
	w->addr = addr;
	w->open = true;
	w->cover = JUMP_BYTES;
	if (!ZYAN_SUCCESS(
		    ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return -EINVAL;
	while (w->len < w->cover) {
		u8 at = w->len, k = w->n;
		bool is_hot = at && at + JUMP_BYTES <= WINDOW_COVER && hot &&
			      (follows_call(w) || hot(ctx, addr + at));
		int err = decode_one(w, &d, code, n);

		if (err)
			return err;
		w->insns[k].hot = is_hot;
		if (is_hot)
			w->cover = MAX(w->cover, at + JUMP_BYTES);
	}
	memcpy(w->code, code, w->len);
	return 0;
}

int code_index(const struct code_window *w, u64 addr)
{
	for (int k = 0; k < w->n; k++)
		if (w->addr + w->insns[k].at == addr)
			return k;
	return -1;
}

enum cover code_cover(const struct code_window *w, unsigned at)
{
	int k = code_index(w, w->addr + at);

	/* Code that may run without a lock jumps over the prefix. */
	if (k < 0 && at && w->code[at - 1] == 0xf0)
		return COVER_TRAP;
	if (k < 0)
		return COVER_FREE;
	return !k || w->insns[k].hot ? COVER_JUMP : COVER_TRAP;
}

static int rel32(u64 from, u64 to, s32 *out)
{
	s64 d = (s64)(to - from);

	*out = (s32)d;
	return d == *out ? 0 : -ERANGE;
}

static int emit_rel(struct wbuf *out, u64 at, const u8 *op, size_t n, u64 to)
{
	s32 rel;
	int err = rel32(at + n + 4, to, &rel);

	wbuf_bytes(out, op, n);
	wbuf_u32(out, rel);
	return err ? err : out->err;
}

int emit_jump(struct wbuf *out, u64 at, u64 to)
{
	return emit_rel(out, at, (const u8 *)"\xe9", 1, to);
}

static int emit_plain(const struct code_window *w, const struct code_insn *in,
		      struct wbuf *out, u64 at)
{
	u8 code[15];
	s32 rel, old;
	int err;

	memcpy(code, w->code + in->at, in->len);
	if (in->disp) {
		u64 next = w->addr + in->at + in->len;

		memcpy(&old, code + in->disp, 4);
		err = rel32(at + in->len, next + (s64)old, &rel);
		if (err)
			return err;
		memcpy(code + in->disp, &rel, 4);
	}
	wbuf_bytes(out, code, in->len);
	return out->err;
}

/* [67] e2 02: to the jump; eb 05: over it; e9 rel32. */
static int emit_jcxz(const struct code_insn *in, struct wbuf *out, u64 at, u64 to)
{
	size_t from = out->len;

	if (in->addr32)
		wbuf_u8(out, 0x67);
	wbuf_u8(out, in->cond);
	wbuf_bytes(out, "\x02\xeb\x05", 3);
	return emit_jump(out, at + (out->len - from), to);
}

/*
 * Push the address that the call would have pushed, and jump. The slot below
 * rsp is written first: the call overwrites it anyway, so a fault in it leaves
 * the program as it was before the call.
 */
static int emit_call(const struct code_window *w, const struct code_insn *in,
		     struct wbuf *out, u64 at, u8 *pushed)
{
	static const u8 lea[] = {0x48, 0x8d, 0x64, 0x24, 0xf8};
	u64 ret = w->addr + in->at + in->len;
	size_t from = out->len;
	struct code_insn jmp = *in;
	struct code_window copy = *w;

	wbuf_bytes(out, "\xc7\x44\x24\xf8", 4); /* movl $lo, -8(%rsp) */
	wbuf_u32(out, (u32)ret);
	wbuf_bytes(out, "\xc7\x44\x24\xfc", 4); /* movl $hi, -4(%rsp) */
	wbuf_u32(out, (u32)(ret >> 32));
	*pushed = out->len - from;
	wbuf_bytes(out, lea, sizeof(lea));
	at += out->len - from;
	if (in->kind == CALL)
		return emit_jump(out, at, in->target);
	/* FF /2 is call, FF /4 is jmp. */
	copy.code[in->at + in->modrm] = (copy.code[in->at + in->modrm] & ~0x38) | 4 << 3;
	if (in->rsp_disp)
		copy.code[in->at + in->rsp_disp] += 8;
	jmp.kind = PLAIN;
	return emit_plain(&copy, &jmp, out, at);
}

int code_emit(const struct code_window *w, unsigned k, struct wbuf *out, u64 at,
	      const u64 entry[WINDOW_INSNS], u8 *pushed)
{
	const struct code_insn *in = &w->insns[k];
	u64 to = in->target;
	u8 op[2];
	int t;

	*pushed = 0;
	if (in->kind == JCC || in->kind == JCXZ || in->kind == JMP) {
		t = code_index(w, to);
		if (t >= 0 && entry[t])
			to = entry[t];
	}
	switch (in->kind) {
	case JCC:
		op[0] = 0x0f;
		op[1] = 0x80 | (in->cond & 0xf);
		return emit_rel(out, at, op, 2, to);
	case JCXZ:
		return emit_jcxz(in, out, at, to);
	case JMP:
		return emit_jump(out, at, to);
	case CALL:
	case CALL_MEM:
		return emit_call(w, in, out, at, pushed);
	default:
		return emit_plain(w, in, out, at);
	}
}
