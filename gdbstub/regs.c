/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "gdbstub/codec.h"
#include "gdbstub/regs.h"

enum place {
	IN_GPR,	  /* gpr[offset], the low `bits` */
	IN_CONST, /* the value is offset itself */
	IN_XSAVE, /* bytes at offset */
	IN_FXTAG, /* the abridged tag byte of FXSAVE, shown in full */
	IN_FX16,  /* 16 bits at offset, shown as 32 */
};

/* XSAVE state components (SDM vol. 1, 13.1). */
enum { XC_X87, XC_SSE, XC_AVX, XC_OPMASK = 5, XC_ZMM_HI256, XC_HI16_ZMM, XC_PKRU = 9 };

#define CORE "org.gnu.gdb.i386.core"
#define SSE  "org.gnu.gdb.i386.sse"
#define LNX  "org.gnu.gdb.i386.linux"
#define SEG  "org.gnu.gdb.i386.segments"
#define AVX  "org.gnu.gdb.i386.avx"
#define A512 "org.gnu.gdb.i386.avx512"
#define PKEY "org.gnu.gdb.i386.pkeys"

/* One row a run of registers: name%d from `first`, `stride` bytes apart. */
struct family {
	const char *feature;
	const char *name; /* with %d, or alone if count is 1 */
	u8 first, count;
	u16 bits;
	const char *type, *group;
	u8 place;
	u8 component; /* of XSAVE; the offset counts from it */
	u32 offset;
	u16 stride;
};

#define GPR(reg, i, t)                                                                     \
	{                                                                                  \
		CORE, reg, 0, 1, 64, t, NULL, IN_GPR, 0, i, 0                              \
	}
#define SELECTOR(reg, v)                                                                   \
	{                                                                                  \
		CORE, reg, 0, 1, 32, "int32", NULL, IN_CONST, 0, v, 0                      \
	}
#define X87(reg, place, off)                                                               \
	{                                                                                  \
		CORE, reg, 0, 1, 32, "int", "float", place, XC_X87, off, 0                 \
	}

/* In gdb's register order (features/i386/64bit-*.xml of gdb). */
static const struct family families[] = {
	/* clang-format off */
	GPR("rax", 0, "int64"), GPR("rbx", 1, "int64"), GPR("rcx", 2, "int64"),
	GPR("rdx", 3, "int64"), GPR("rsi", 4, "int64"), GPR("rdi", 5, "int64"),
	GPR("rbp", 6, "data_ptr"), GPR("rsp", 7, "data_ptr"),
	{CORE, "r%d", 8, 8, 64, "int64", NULL, IN_GPR, 0, 8, 1},
	GPR("rip", 16, "code_ptr"),
	{CORE, "eflags", 0, 1, 32, "i386_eflags", NULL, IN_GPR, 0, 17, 0},
	SELECTOR("cs", 0x33), SELECTOR("ss", 0x2b), SELECTOR("ds", 0),
	SELECTOR("es", 0), SELECTOR("fs", 0), SELECTOR("gs", 0),
	{CORE, "st%d", 0, 8, 80, "i387_ext", NULL, IN_XSAVE, XC_X87, 32, 16},
	X87("fctrl", IN_FX16, 0), X87("fstat", IN_FX16, 2), X87("ftag", IN_FXTAG, 4),
	X87("fiseg", IN_FX16, 12), X87("fioff", IN_XSAVE, 8), X87("foseg", IN_FX16, 20),
	X87("fooff", IN_XSAVE, 16), X87("fop", IN_FX16, 6),
	{SSE, "xmm%d", 0, 16, 128, "vec128", NULL, IN_XSAVE, XC_SSE, 160, 16},
	{SSE, "mxcsr", 0, 1, 32, "i386_mxcsr", "vector", IN_XSAVE, XC_SSE, 24, 0},
	{LNX, "orig_rax", 0, 1, 64, "int", NULL, IN_GPR, 0, 20, 0},
	{SEG, "fs_base", 0, 1, 64, "int", NULL, IN_GPR, 0, 18, 0},
	{SEG, "gs_base", 0, 1, 64, "int", NULL, IN_GPR, 0, 19, 0},
	{AVX, "ymm%dh", 0, 16, 128, "uint128", NULL, IN_XSAVE, XC_AVX, 0, 16},
	{A512, "k%d", 0, 8, 64, "uint64", NULL, IN_XSAVE, XC_OPMASK, 0, 8},
	{A512, "zmm%dh", 0, 16, 256, "v2ui128", NULL, IN_XSAVE, XC_ZMM_HI256, 0, 32},
	{A512, "xmm%d", 16, 16, 128, "vec128", NULL, IN_XSAVE, XC_HI16_ZMM, 0, 64},
	{A512, "ymm%dh", 16, 16, 128, "uint128", NULL, IN_XSAVE, XC_HI16_ZMM, 16, 64},
	{A512, "zmm%dh", 16, 16, 256, "v2ui128", NULL, IN_XSAVE, XC_HI16_ZMM, 32, 64},
	{PKEY, "pkru", 0, 1, 32, "i386_pkru", NULL, IN_XSAVE, XC_PKRU, 0, 0},
	/* clang-format on */
};

#define XCR0_AVX    (1u << XC_AVX)
#define XCR0_AVX512 (1u << XC_OPMASK | 1u << XC_ZMM_HI256 | 1u << XC_HI16_ZMM)

/* gdb takes a feature whole or not at all. */
static bool feature_had(const char *feature, u64 xcr0)
{
	if (!strcmp(feature, AVX))
		return xcr0 & XCR0_AVX;
	if (!strcmp(feature, A512))
		return (xcr0 & XCR0_AVX512) == XCR0_AVX512;
	if (!strcmp(feature, PKEY))
		return xcr0 & 1u << XC_PKRU;
	return true;
}

static void family_expand(struct reg_table *t, const struct family *f, u32 base)
{
	for (unsigned i = 0; i < f->count && t->n < GDB_MAX_REGS; i++) {
		struct gdb_reg *r = &t->v[t->n++];

		*r = (struct gdb_reg){
			.feature = f->feature,
			.type = f->type,
			.group = f->group,
			.bits = f->bits,
			.place = f->place,
			.offset = base + f->offset + i * f->stride,
		};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(r->name, sizeof(r->name), f->name, f->first + i);
#pragma GCC diagnostic pop
	}
}

void reg_table_init(struct reg_table *t, const struct gdb_xsave *x)
{
	t->n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		const struct family *f = &families[i];
		bool xsave =
			f->place == IN_XSAVE || f->place == IN_FX16 || f->place == IN_FXTAG;

		if (feature_had(f->feature, x->xcr0))
			family_expand(t, f,
				      xsave && f->component > XC_SSE
					      ? x->offset[f->component]
					      : 0);
	}
}

/* ---- the target description ---- */

struct flag {
	const char *name;
	u8 bit;
};

static const struct flag eflags_bits[] = {
	{"CF",  0 },
	    {"",	 1 },
	{"PF",  2 },
	     {"AF",  4 },
	  {"ZF",	 6 },
	      {"SF",  7 },
	{"TF",  8 },
	    {"IF",  9 },
	{"DF",  10},
	     {"OF",  11},
	  {"NT",	 14},
	      {"RF",  16},
	{"VM",  17},
	    {"AC",  18},
	{"VIF", 19},
	     {"VIP", 20},
	  {"ID",	 21},
};

static const struct flag mxcsr_bits[] = {
	{"IE",  0 },
	   {"DE",  1 },
	      {"ZE",  2 },
	 {"OE",	3 },
	     {"UE",  4 },
	 {"PE",	5 },
	     {"DAZ", 6 },
	{"IM",  7 },
	   {"DM",  8 },
	      {"ZM",  9 },
	 {"OM",	10},
	     {"UM",  11},
	 {"PM",	12},
	     {"FZ",  15},
};

static void put_flags(struct wbuf *b, const char *id, const struct flag *v, size_t n)
{
	put_fmt(b, "<flags id=\"%s\" size=\"4\">", id);
	for (size_t i = 0; i < n; i++)
		put_fmt(b, "<field name=\"%s\" start=\"%d\" end=\"%d\"/>", v[i].name,
			v[i].bit, v[i].bit);
	put_str(b, "</flags>");
}

static const char vec128_types[] = "<vector id=\"v8bf16\" type=\"bfloat16\" count=\"8\"/>"
				   "<vector id=\"v4f\" type=\"ieee_single\" count=\"4\"/>"
				   "<vector id=\"v2d\" type=\"ieee_double\" count=\"2\"/>"
				   "<vector id=\"v16i8\" type=\"int8\" count=\"16\"/>"
				   "<vector id=\"v8i16\" type=\"int16\" count=\"8\"/>"
				   "<vector id=\"v4i32\" type=\"int32\" count=\"4\"/>"
				   "<vector id=\"v2i64\" type=\"int64\" count=\"2\"/>"
				   "<union id=\"vec128\">"
				   "<field name=\"v8_bfloat16\" type=\"v8bf16\"/>"
				   "<field name=\"v4_float\" type=\"v4f\"/>"
				   "<field name=\"v2_double\" type=\"v2d\"/>"
				   "<field name=\"v16_int8\" type=\"v16i8\"/>"
				   "<field name=\"v8_int16\" type=\"v8i16\"/>"
				   "<field name=\"v4_int32\" type=\"v4i32\"/>"
				   "<field name=\"v2_int64\" type=\"v2i64\"/>"
				   "<field name=\"uint128\" type=\"uint128\"/>"
				   "</union>";

static void put_feature_types(struct wbuf *b, const char *feature)
{
	if (!strcmp(feature, CORE))
		put_flags(b, "i386_eflags", eflags_bits, ARRAY_SIZE(eflags_bits));
	if (!strcmp(feature, SSE) || !strcmp(feature, A512))
		put_str(b, vec128_types);
	if (!strcmp(feature, SSE))
		put_flags(b, "i386_mxcsr", mxcsr_bits, ARRAY_SIZE(mxcsr_bits));
	if (!strcmp(feature, A512))
		put_str(b, "<vector id=\"v2ui128\" type=\"uint128\" count=\"2\"/>");
	if (!strcmp(feature, PKEY)) {
		put_str(b, "<flags id=\"i386_pkru\" size=\"4\">");
		for (int i = 0; i < 16; i++)
			put_fmt(b,
				"<field name=\"AD%d\" start=\"%d\" end=\"%d\"/>"
				"<field name=\"WD%d\" start=\"%d\" end=\"%d\"/>",
				i, 2 * i, 2 * i, i, 2 * i + 1, 2 * i + 1);
		put_str(b, "</flags>");
	}
}

void reg_table_xml(const struct reg_table *t, struct wbuf *b)
{
	const char *feature = "";

	put_str(b, "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\">"
		   "<target version=\"1.0\"><architecture>i386:x86-64</architecture>"
		   "<osabi>GNU/Linux</osabi>");
	for (size_t i = 0; i < t->n; i++) {
		const struct gdb_reg *r = &t->v[i];

		if (strcmp(feature, r->feature)) {
			if (*feature)
				put_str(b, "</feature>");
			feature = r->feature;
			put_fmt(b, "<feature name=\"%s\">", feature);
			put_feature_types(b, feature);
		}
		put_fmt(b, "<reg name=\"%s\" bitsize=\"%u\" type=\"%s\" regnum=\"%zu\"",
			r->name, r->bits, r->type, i);
		if (r->group)
			put_fmt(b, " group=\"%s\"", r->group);
		put_str(b, "/>");
	}
	put_str(b, "</feature></target>");
}

/* ---- values ---- */

/*
 * FXSAVE keeps one bit a physical register (0: empty); the full word has two:
 * 0 valid, 1 zero, 2 special, 3 empty. The class follows from the contents
 * (SDM vol. 1, 10.5.1.1), which lie in stack order.
 */
static u16 fx_full_tag(const u8 *fx)
{
	unsigned top = fx[3] >> 3 & 7;
	u16 tag = 0;

	for (unsigned phys = 0; phys < 8; phys++) {
		const u8 *st = fx + 32 + 16 * ((phys - top) & 7);
		u64 mantissa;
		u16 exponent;
		unsigned class;

		memcpy(&mantissa, st, 8);
		memcpy(&exponent, st + 8, 2);
		exponent &= 0x7fff;
		if (!(fx[4] >> phys & 1))
			class = 3;
		else if (exponent == 0 && mantissa == 0)
			class = 1;
		else if (exponent == 0 || exponent == 0x7fff || !(mantissa >> 63))
			class = 2;
		else
			class = 0;
		tag |= class << 2 * phys;
	}
	return tag;
}

static u8 fx_short_tag(u16 full)
{
	u8 tag = 0;

	for (unsigned phys = 0; phys < 8; phys++)
		if ((full >> 2 * phys & 3) != 3)
			tag |= 1u << phys;
	return tag;
}

bool reg_in_xsave(const struct reg_table *t, size_t i)
{
	return t->v[i].place != IN_GPR && t->v[i].place != IN_CONST;
}

size_t reg_get(const struct reg_table *t, size_t i, const struct reg_image *img, u8 *out,
	       bool *have)
{
	const struct gdb_reg *r = &t->v[i];
	size_t n = r->bits / 8;
	u32 v;

	memset(out, 0, n);
	*have = !reg_in_xsave(t, i) ||
		(img->xsave_len >= 512 && r->offset + n <= img->xsave_len);
	if (!*have)
		return n;
	switch ((enum place)r->place) {
	case IN_GPR:
		memcpy(out, &img->gpr[r->offset], n);
		break;
	case IN_CONST:
		memcpy(out, &r->offset, n);
		break;
	case IN_XSAVE:
		memcpy(out, img->xsave + r->offset, n);
		break;
	case IN_FX16:
		memcpy(out, img->xsave + r->offset, 2);
		break;
	case IN_FXTAG:
		v = fx_full_tag(img->xsave);
		memcpy(out, &v, n);
		break;
	}
	return n;
}

/* A component that XSTATE_BV calls initial would be ignored by XRSTOR. */
static void xsave_mark(struct reg_image *img, const struct gdb_reg *r)
{
	static const struct {
		const char *feature;
		u64 bits;
	} owners[] = {
		{CORE, 1u << XC_X87		   },
		{SSE,  1u << XC_SSE		  },
		{AVX,  1u << XC_AVX | 1u << XC_SSE},
		{A512, XCR0_AVX512		  },
		{PKEY, 1u << XC_PKRU		    },
	};
	u64 bv;

	if (img->xsave_len < 576)
		return;
	memcpy(&bv, img->xsave + 512, 8);
	for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
		if (!strcmp(owners[i].feature, r->feature))
			bv |= owners[i].bits;
	memcpy(img->xsave + 512, &bv, 8);
}

void reg_put(const struct reg_table *t, size_t i, struct reg_image *img, const u8 *in)
{
	const struct gdb_reg *r = &t->v[i];
	size_t n = r->bits / 8;
	u16 full;

	if (reg_in_xsave(t, i)) {
		if (img->xsave_len < 512 || r->offset + n > img->xsave_len)
			return;
		xsave_mark(img, r);
	}
	switch ((enum place)r->place) {
	case IN_GPR:
		img->gpr[r->offset] = 0;
		memcpy(&img->gpr[r->offset], in, n);
		break;
	case IN_CONST:
		break;
	case IN_XSAVE:
		memcpy(img->xsave + r->offset, in, n);
		break;
	case IN_FX16:
		memcpy(img->xsave + r->offset, in, 2);
		break;
	case IN_FXTAG:
		memcpy(&full, in, 2);
		img->xsave[r->offset] = fx_short_tag(full);
		break;
	}
}
