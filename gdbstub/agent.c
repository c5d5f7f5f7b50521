/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>

#include "gdbstub/agent.h"

#define STACK_MAX 64
#define STEPS_MAX 100000

enum agent_op {
	AX_ADD = 0x02,
	AX_SUB,
	AX_MUL,
	AX_DIV_SIGNED,
	AX_DIV_UNSIGNED,
	AX_REM_SIGNED,
	AX_REM_UNSIGNED,
	AX_LSH,
	AX_RSH_SIGNED,
	AX_RSH_UNSIGNED,
	AX_LOG_NOT = 0x0e,
	AX_BIT_AND,
	AX_BIT_OR,
	AX_BIT_XOR,
	AX_BIT_NOT,
	AX_EQUAL,
	AX_LESS_SIGNED,
	AX_LESS_UNSIGNED,
	AX_EXT,
	AX_REF8,
	AX_REF16,
	AX_REF32,
	AX_REF64,
	AX_IF_GOTO = 0x20,
	AX_GOTO,
	AX_CONST8,
	AX_CONST16,
	AX_CONST32,
	AX_CONST64,
	AX_REG,
	AX_END,
	AX_DUP,
	AX_POP,
	AX_ZERO_EXT,
	AX_SWAP,
	AX_PICK = 0x32,
	AX_ROT,
	NR_AX
};

struct machine {
	const struct agent_env *env;
	const u8 *code;
	size_t n, pc;
	unsigned sp;
	u64 stack[STACK_MAX];
};

typedef int (*agent_fn)(struct machine *m, u8 op, u64 operand);

static inline u64 *top(struct machine *m, unsigned depth)
{
	return &m->stack[m->sp - 1 - depth];
}

static int ax_arith(struct machine *m, u8 op, u64 operand)
{
	u64 b = *top(m, 0), a = *top(m, 1), r;

	switch (op) {
	case AX_ADD:
		r = a + b;
		break;
	case AX_SUB:
		r = a - b;
		break;
	case AX_MUL:
		r = a * b;
		break;
	case AX_BIT_AND:
		r = a & b;
		break;
	case AX_BIT_OR:
		r = a | b;
		break;
	case AX_BIT_XOR:
		r = a ^ b;
		break;
	case AX_LSH:
		r = b < 64 ? a << b : 0;
		break;
	case AX_RSH_UNSIGNED:
		r = b < 64 ? a >> b : 0;
		break;
	default: /* AX_RSH_SIGNED */
		r = (s64)a >> MIN(b, (u64)63);
		break;
	}
	m->sp--;
	*top(m, 0) = r;
	return 0;
}

static int ax_compare(struct machine *m, u8 op, u64 operand)
{
	u64 b = *top(m, 0), a = *top(m, 1);

	m->sp--;
	*top(m, 0) = op == AX_EQUAL	    ? a == b
		     : op == AX_LESS_SIGNED ? (s64)a < (s64)b
					    : a < b;
	return 0;
}

static int ax_divide(struct machine *m, u8 op, u64 operand)
{
	u64 b = *top(m, 0), a = *top(m, 1), r;
	bool rem = op == AX_REM_SIGNED || op == AX_REM_UNSIGNED;

	if (!b)
		return -EDOM;
	if (op == AX_DIV_UNSIGNED || op == AX_REM_UNSIGNED)
		r = rem ? a % b : a / b;
	else if (b == ~0ULL) /* INT64_MIN / -1 would trap */
		r = rem ? 0 : -a;
	else
		r = rem ? (s64)a % (s64)b : (s64)a / (s64)b;
	m->sp--;
	*top(m, 0) = r;
	return 0;
}

static int ax_unary(struct machine *m, u8 op, u64 operand)
{
	u64 *v = top(m, 0);

	switch (op) {
	case AX_LOG_NOT:
		*v = !*v;
		break;
	case AX_BIT_NOT:
		*v = ~*v;
		break;
	case AX_EXT:
		if (operand > 0 && operand < 64)
			*v = (s64)(*v << (64 - operand)) >> (64 - operand);
		break;
	case AX_ZERO_EXT:
		if (operand < 64)
			*v &= (1ULL << operand) - 1;
		break;
	}
	return 0;
}

static int ax_ref(struct machine *m, u8 op, u64 operand)
{
	u64 v = 0;
	int r = m->env->read(m->env->ctx, *top(m, 0), &v, 1u << (op - AX_REF8));

	*top(m, 0) = v;
	return r;
}

static int ax_jump(struct machine *m, u8 op, u64 operand)
{
	if (op == AX_IF_GOTO && !m->stack[--m->sp])
		return 0;
	if (operand >= m->n)
		return -EINVAL;
	m->pc = operand;
	return 0;
}

static int ax_push(struct machine *m, u8 op, u64 operand)
{
	u64 v = operand;
	int r = 0;

	if (op == AX_REG)
		r = m->env->reg(m->env->ctx, operand, &v);
	else if (op == AX_DUP)
		v = *top(m, 0);
	if (op == AX_PICK) {
		if (operand >= m->sp)
			return -EINVAL;
		v = *top(m, operand);
	}
	m->stack[m->sp++] = v;
	return r;
}

static int ax_shuffle(struct machine *m, u8 op, u64 operand)
{
	u64 t = *top(m, 0);

	switch (op) {
	case AX_POP:
		m->sp--;
		break;
	case AX_SWAP:
		*top(m, 0) = *top(m, 1);
		*top(m, 1) = t;
		break;
	case AX_ROT: /* a b c => c a b */
		*top(m, 0) = *top(m, 1);
		*top(m, 1) = *top(m, 2);
		*top(m, 2) = t;
		break;
	}
	return 0;
}

/* How many bytes of operand follow, how many values must be there, whether
 * one more is pushed. */
static const struct agent_row {
	agent_fn fn;
	u8 operand, needs, grows;
} rows[NR_AX] = {
	[AX_ADD] = {ax_arith,   0, 2, 0},
	[AX_SUB] = {ax_arith,   0, 2, 0},
	[AX_MUL] = {ax_arith,   0, 2, 0},
	[AX_DIV_SIGNED] = {ax_divide,  0, 2, 0},
	[AX_DIV_UNSIGNED] = {ax_divide,	0, 2, 0},
	[AX_REM_SIGNED] = {ax_divide,  0, 2, 0},
	[AX_REM_UNSIGNED] = {ax_divide,	0, 2, 0},
	[AX_LSH] = {ax_arith,   0, 2, 0},
	[AX_RSH_SIGNED] = {ax_arith,   0, 2, 0},
	[AX_RSH_UNSIGNED] = {ax_arith,   0, 2, 0},
	[AX_LOG_NOT] = {ax_unary,	  0, 1, 0},
	[AX_BIT_AND] = {ax_arith,	  0, 2, 0},
	[AX_BIT_OR] = {ax_arith,	 0, 2, 0},
	[AX_BIT_XOR] = {ax_arith,	  0, 2, 0},
	[AX_BIT_NOT] = {ax_unary,	  0, 1, 0},
	[AX_EQUAL] = {ax_compare, 0, 2, 0},
	[AX_LESS_SIGNED] = {ax_compare, 0, 2, 0},
	[AX_LESS_UNSIGNED] = {ax_compare, 0, 2, 0},
	[AX_EXT] = {ax_unary,   1, 1, 0},
	[AX_REF8] = {ax_ref,     0, 1, 0},
	[AX_REF16] = {ax_ref,     0, 1, 0},
	[AX_REF32] = {ax_ref,     0, 1, 0},
	[AX_REF64] = {ax_ref,     0, 1, 0},
	[AX_IF_GOTO] = {ax_jump,	 2, 1, 0},
	[AX_GOTO] = {ax_jump,    2, 0, 0},
	[AX_CONST8] = {ax_push,	1, 0, 1},
	[AX_CONST16] = {ax_push,	 2, 0, 1},
	[AX_CONST32] = {ax_push,	 4, 0, 1},
	[AX_CONST64] = {ax_push,	 8, 0, 1},
	[AX_REG] = {ax_push,    2, 0, 1},
	[AX_DUP] = {ax_push,    0, 1, 1},
	[AX_POP] = {ax_shuffle, 0, 1, 0},
	[AX_ZERO_EXT] = {ax_unary,   1, 1, 0},
	[AX_SWAP] = {ax_shuffle, 0, 2, 0},
	[AX_PICK] = {ax_push,    1, 1, 1},
	[AX_ROT] = {ax_shuffle, 0, 3, 0},
};

static int agent_step(struct machine *m)
{
	u8 op = m->code[m->pc++];
	const struct agent_row *row = op < NR_AX ? &rows[op] : &rows[0];
	u64 operand = 0;

	if (!row->fn || m->n - m->pc < row->operand || m->sp < row->needs ||
	    m->sp + row->grows > STACK_MAX)
		return -EINVAL;
	for (unsigned i = 0; i < row->operand; i++)
		operand = operand << 8 | m->code[m->pc++];
	return row->fn(m, op, operand);
}

int agent_eval(const u8 *code, size_t n, const struct agent_env *env, u64 *value)
{
	struct machine m = {.env = env, .code = code, .n = n};

	for (int steps = 0; steps < STEPS_MAX; steps++) {
		int r;

		if (m.pc >= n)
			return -EINVAL;
		if (code[m.pc] == AX_END) {
			if (!m.sp)
				return -EINVAL;
			*value = *top(&m, 0);
			return 0;
		}
		r = agent_step(&m);
		if (r < 0)
			return r;
	}
	return -ELOOP;
}
