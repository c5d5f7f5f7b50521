/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The gdb stub against a fake machine whose state at step i is known: rax is
 * i, the word at VAR is i / 4, code is a loop of 4 instructions.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "gdbstub/agent.h"
#include "gdbstub/codec.h"
#include "gdbstub/monitor.h"
#include "gdbstub/regs.h"
#include "gdbstub/signals.h"
#include "gdbstub/stub.h"
#include "tests/unit/fake-target.h"

/* ---- codec ---- */

static enum codec_item feed(struct codec *c, const char *s, size_t n)
{
	enum codec_item last = CODEC_NONE;

	for (size_t i = 0; i < n; i++)
		last = codec_feed(c, s[i]);
	return last;
}

#define FEED(c, s) feed(c, s, sizeof(s) - 1)

static void codec_takes_frames(void **state)
{
	struct codec c = {0};

	assert_int_equal(FEED(&c, "+$g#67"), CODEC_PACKET);
	assert_int_equal(c.body.len, 1);
	assert_int_equal(FEED(&c, "$g#68"), CODEC_BAD);
	assert_int_equal(FEED(&c, "$g#6x"), CODEC_BAD);
	assert_int_equal(FEED(&c, "$g#x"), CODEC_BAD);
	assert_int_equal(FEED(&c, "\x03"), CODEC_BREAK);
	assert_int_equal(FEED(&c, "-"), CODEC_NAK);
	assert_int_equal(FEED(&c, "$#00"), CODEC_PACKET);
	assert_int_equal(c.body.len, 0);
	/* A frame cut short by the next one. */
	assert_int_equal(FEED(&c, "$mfoo$?#3f"), CODEC_PACKET);
	assert_memory_equal(c.body.data, "?", 1);
	/* Ctrl-C inside a frame is data. */
	assert_int_equal(FEED(&c, "$\x03#03"), CODEC_PACKET);
	codec_fini(&c);
}

static void codec_round_trips(void **state)
{
	struct codec c = {0};
	struct wbuf out = {0};
	u8 all[512];

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = i;
	codec_frame(&out, all, sizeof(all));
	assert_int_equal(feed(&c, (char *)out.data, out.len), CODEC_PACKET);
	assert_int_equal(c.body.len, sizeof(all));
	assert_memory_equal(c.body.data, all, sizeof(all));
	wbuf_free(&out);
	codec_fini(&c);
}

static void codec_bounds_frames(void **state)
{
	struct codec c = {0};

	codec_feed(&c, '$');
	for (size_t i = 0; i < 2 * GDB_PACKET_MAX; i++)
		assert_int_equal(codec_feed(&c, 0), CODEC_NONE);
	assert_int_equal(FEED(&c, "#00"), CODEC_BAD);
	assert_in_range(c.body.len, 0, GDB_PACKET_MAX);
	codec_fini(&c);
}

static struct scan scan_of(const char *s)
{
	return (struct scan){(const u8 *)s, (const u8 *)s + strlen(s)};
}

static void scans_numbers_and_threads(void **state)
{
	struct scan s = scan_of("ffffffffffffffff,");
	struct gdb_tid t;
	u64 v;

	assert_true(scan_hex(&s, &v) && v == ~0ULL && scan_char(&s, ','));
	s = scan_of("1ffffffffffffffff");
	assert_false(scan_hex(&s, &v));
	s = scan_of("");
	assert_false(scan_hex(&s, &v));
	s = scan_of("p1f.-1");
	assert_true(scan_tid(&s, &t) && t.pid == 0x1f && t.tid == -1);
	s = scan_of("p2");
	assert_true(scan_tid(&s, &t) && t.pid == 2 && t.tid == -1);
	s = scan_of("-1");
	assert_true(scan_tid(&s, &t) && t.pid == 0 && t.tid == -1);
	s = scan_of("p.3");
	assert_false(scan_tid(&s, &t));
	s = scan_of("80000000");
	assert_false(scan_tid(&s, &t));
}

/* ---- agent expressions ---- */

static int env_reg(void *ctx, unsigned n, u64 *v)
{
	*v = 100 + n;
	return 0;
}

static int env_read(void *ctx, u64 addr, void *buf, size_t n)
{
	if (addr < 16)
		return -EFAULT;
	memset(buf, 0x81, n);
	return 0;
}

static int eval(const char *code, size_t n, u64 *v)
{
	struct agent_env env = {NULL, env_reg, env_read};

	return agent_eval((const u8 *)code, n, &env, v);
}

static void agent_computes(void **state)
{
	static const struct {
		const char *code;
		size_t n;
		int r;
		u64 v;
	} rows[] = {
/* clang-format off */
#define ROW(s, ret, val) {s, sizeof(s) - 1, ret, val}
		ROW("\x22\x05\x22\x03\x02\x27", 0, 8),
		ROW("\x22\x05\x22\x03\x03\x27", 0, 2),
		ROW("\x22\x05\x22\x00\x05\x27", -EDOM, 0),
		ROW("\x26\x00\x07\x27", 0, 107),
		ROW("\x23\x01\x00\x17\x27", 0, 0x81),
		ROW("\x23\x01\x00\x17\x16\x08\x27", 0, 0xffffffffffffff81),
		ROW("\x23\x01\x00\x1a\x2a\x10\x27", 0, 0x8181),
		ROW("\x22\x05\x17\x27", -EFAULT, 0),
		ROW("\x22\x01\x22\x02\x14\x27", 0, 1),
		ROW("\x22\x02\x22\x02\x13\x0e\x27", 0, 0),
		ROW("\x22\x01\x22\x02\x22\x03\x33\x27", 0, 2), /* 3 1 2 */
		ROW("\x22\x01\x22\x02\x32\x01\x27", 0, 1),
		ROW("\x22\x01\x32\x05\x27", -EINVAL, 0),
		ROW("\x22\x01\x20\x00\x07\x22\x09\x22\x04\x27", 0, 4),
		ROW("\x21\x00\x00", -ELOOP, 0),
		ROW("\x21\x00\x63\x27", -EINVAL, 0),
		ROW("\x27", -EINVAL, 0),
		ROW("\x02\x27", -EINVAL, 0),
		ROW("\x22", -EINVAL, 0),
		ROW("\xff\x27", -EINVAL, 0),
		ROW("\x22\x05", -EINVAL, 0),
#undef ROW
		/* clang-format on */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		u64 v = 0;

		assert_int_equal(eval(rows[i].code, rows[i].n, &v), rows[i].r);
		assert_int_equal(v, rows[i].v);
	}
}

static void agent_survives_anything(void **state)
{
	srand(7);
	for (int k = 0; k < 20000; k++) {
		char code[24];
		u64 v;
		int r;

		for (size_t i = 0; i < sizeof(code); i++)
			code[i] = rand() % 0x36;
		r = eval(code, sizeof(code), &v);
		assert_true(r <= 0);
	}
}

/* ---- registers ---- */

static const struct gdb_xsave avx512 = {
	.xcr0 = 0x2e7,
	.size = 2696,
	.offset = {[2] = 576, [5] = 1088, [6] = 1152, [7] = 1664, [9] = 2688},
};

static void registers_fit_their_description(void **state)
{
	static const struct {
		u64 xcr0;
		size_t n;
		const char *last;
	} rows[] = {
		{0,	    60,	"gs_base"},
		{7,	    76,	"ymm15h" },
		{0xe7,  148, "zmm31h" },
		{0x2e7, 149, "pkru"   },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gdb_xsave x = avx512;
		struct wbuf xml = {0};
		struct reg_table t;
		size_t regs = 0;

		x.xcr0 = rows[i].xcr0;
		reg_table_init(&t, &x);
		assert_int_equal(t.n, rows[i].n);
		assert_string_equal(t.v[t.n - 1].name, rows[i].last);
		reg_table_xml(&t, &xml);
		wbuf_u8(&xml, 0);
		for (const char *p = (char *)xml.data; (p = strstr(p, "<reg ")); p++)
			regs++;
		assert_int_equal(regs, t.n);
		wbuf_free(&xml);
	}
}

static void registers_come_back(void **state)
{
	static struct reg_image img = {.xsave_len = 2696};
	struct reg_table t;

	reg_table_init(&t, &avx512);
	for (size_t i = 0; i < t.n; i++) {
		u8 in[GDB_REG_MAX], out[GDB_REG_MAX];
		bool have;
		size_t n = reg_get(&t, i, &img, out, &have);

		assert_true(have);
		memset(in, 0, sizeof(in));
		/* 16 bits: what all registers but selectors have. */
		in[0] = 0xff;
		in[1] = 0x07;
		reg_put(&t, i, &img, in);
		reg_get(&t, i, &img, out, &have);
		if (t.v[i].bits == 32 && strchr("cdefgs", t.v[i].name[0]) &&
		    strlen(t.v[i].name) == 2)
			continue;
		if (!strcmp(t.v[i].name, "ftag"))
			continue; /* valid, zero and special follow from contents */
		assert_memory_equal(in, out, n);
	}
}

static void signals_round_trip(void **state)
{
	for (int i = 1; i <= 64; i++)
		if (i != 16) /* SIGSTKFLT: gdb has none */
			assert_int_equal(signal_from_gdb(signal_to_gdb(i)), i);
	assert_int_equal(signal_to_gdb(10), 30);
	assert_int_equal(signal_from_gdb(0), 0);
}

/* ---- dispatch over the fake machine ---- */

struct fixture {
	struct fake fake;
	struct gdbstub *stub;
	struct wbuf reply, console;
	unsigned answer;
};

static void keep_console(void *ctx, const void *body, size_t n)
{
	struct fixture *f = ctx;

	wbuf_bytes(&f->console, body, n);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fake_init(&f->fake);
	*state = f;
	return gdbstub_new(&f->stub, &f->fake.target, keep_console, f);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	gdbstub_free(f->stub);
	assert_int_equal(f->fake.n_points, 0);
	wbuf_free(&f->reply);
	wbuf_free(&f->console);
	free(f);
	return 0;
}

static const char *ask_n(struct fixture *f, const char *p, size_t n)
{
	f->answer = gdbstub_packet(f->stub, p, n, &f->reply);
	wbuf_u8(&f->reply, 0);
	return (const char *)f->reply.data;
}

static const char *ask(struct fixture *f, const char *p)
{
	return ask_n(f, p, strlen(p));
}

static void dispatch_answers(void **state)
{
	/* In order: each may rest on those before. */
	static const char *const rows[][2] = {
		{"qNoSuchThing",			 ""		   },
		{"vMustReplyEmpty",		    ""		      },
		{"jThreadsInfo",			 ""		   },
		{"",				   ""		       },
		{"QNonStop:0",			       "OK"		   },
		{"QNonStop:1",			       "E5f"		    },
		{"qC",				 "QC2"		    },
		{"qAttached:1",			"1"		   },
		{"qfThreadInfo",			 "m2,3"	       },
		{"qsThreadInfo",			 "l"		    },
		{"T2",				 "OK"		   },
		{"T9",				 "E03"		    },
		{"Tx",				 "E16"		    },
		{"Hg3",				"OK"		    },
		{"Hg0",				"OK"		    },
		{"Hg9",				"E03"	     },
		{"Hx0",				"E16"	     },
		{"m2000,8",			    "0000000000000000"},
		{"m2000,800000",			 NULL		     },
		{"m1,4",			       "E0e"	      },
		{"m,4",				"E16"	     },
		{"m2000",			      "E16"	       },
		{"m2000,8,",			     "E16"		  },
		{"p0",				 "0000000000000000"},
		{"pff",				"E16"	     },
		{"p10",				"0010000000000000"},
		{"P0=01",			      "E16"	       },
		{"G00",				"E16"	     },
		{"X2000,0:",			     "OK"		 },
		{"M2000,2:ff",			       "E16"		    },
		{"M2000,1:zz",			       "E16"		    },
		{"Z5,0,0",			     ""		     },
		{"Z9,0,0",			     ""		     },
		{"Z0,zz,1",			    "E16"		 },
		{"Z0,1000,1;X1",			 "E16"	      },
		{"Z0,1000,1;Xffffffff,00",		   "E16"		},
		{"z0,1000,1",			      "OK"		  },
		{"vCont?",			     "vCont;c;C;s;S;r" },
		{"vCont",			      "E16"	       },
		{"vCont;",			     "E16"		},
		{"vCont;q",			    "E16"		 },
		{"vCont;s:zz",			       "E16"		    },
		{"QPassSignals:e;10;14",		 "OK"		     },
		{"QPassSignals:x",			   "E16"		},
		{"QPassSignals:",			  "OK"	      },
		{"qRcmd,zz",			     "E16"		  },
		{"qXfer:features:read:other.xml:0,10", "E02"		    },
		{"qXfer:features:read:target.xml:0",   "E16"		  },
		{"qXfer:siginfo:read::0,80",	     ""		       },
		{"qSymbol::",			      "OK"		  },
		{"vFile:open:2f,0,0",		      ""		},
		{"vKill;1",			    "OK"		},
		{"g",				  "E03"		   },
		{"qC",				 "E03"		    },
		{"qfThreadInfo",			 "l"		    },
		{"?",				  "W00"		   },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *got = ask(f, rows[i][0]);

		if (rows[i][1] && strcmp(got, rows[i][1]))
			fail_msg("%s: %s, not %s", rows[i][0], got, rows[i][1]);
		assert_int_equal(f->answer, GDBSTUB_REPLY);
	}
}

static void supported_is_negotiated(void **state)
{
	struct fixture *f = *state;
	const char *got = ask(f, "qSupported:multiprocess+;swbreak+;hwbreak+;x=y;");

	assert_non_null(strstr(got, "ReverseStep+"));
	assert_non_null(strstr(got, "ConditionalBreakpoints+"));
	assert_string_equal(ask(f, "qC"), "QCp1.2");
	assert_string_equal(ask(f, "Hgp1.3"), "OK");
	assert_string_equal(ask(f, "Hgp4.3"), "E03");
	assert_string_equal(ask(f, "QStartNoAckMode"), "OK");
	assert_int_equal(f->answer, GDBSTUB_REPLY | GDBSTUB_NOACK);
	/* The next client knows nothing of it. */
	gdbstub_reset(f->stub);
	assert_string_equal(ask(f, "qC"), "QC2");
}

static void starts(const char *got, const char *want)
{
	if (strncmp(got, want, strlen(want)))
		fail_msg("%s, not %s...", got, want);
}

static void runs_both_ways(void **state)
{
	struct fixture *f = *state;

	ask(f, "qSupported:swbreak+;hwbreak+");
	starts(ask(f, "?"), "T05thread:2;");
	assert_string_equal(ask(f, "Z0,1002,1"), "OK");
	starts(ask(f, "vCont;c"), "T05swbreak:;thread:2;");
	assert_int_equal(f->fake.at, 2);
	starts(ask(f, "vCont;C05"), "T05swbreak:;");
	assert_int_equal(f->fake.at, 6);
	starts(ask(f, "bs"), "T05thread");
	assert_int_equal(f->fake.at, 5);
	starts(ask(f, "bc"), "T05swbreak:;");
	assert_int_equal(f->fake.at, 2);
	starts(ask(f, "bc"), "T05replaylog:begin;");
	assert_string_equal(ask(f, "z0,1002,1"), "OK");
	starts(ask(f, "c"), "T05replaylog:end;");
	starts(ask(f, "c"), "W03");
	assert_string_equal(ask(f, "c"), "E03");
	starts(ask(f, "vRun;"), "T05thread:2");
	starts(ask(f, "vCont;r1000,1003:2"), "T05thread");
	assert_int_equal(f->fake.at, 3);
	/* A watchpoint tells its address; Z1 is a hardware stop. */
	assert_string_equal(ask(f, "Z2,2000,8"), "OK");
	starts(ask(f, "c"), "T05watch:2000;");
	assert_string_equal(ask(f, "z2,2000,8"), "OK");
	assert_string_equal(ask(f, "Z1,1001,1"), "OK");
	starts(ask(f, "c"), "T05hwbreak:;");
}

static void conditions_decide(void **state)
{
	struct fixture *f = *state;

	/* rax == 42; then the same point with another condition. */
	assert_string_equal(ask(f, "Z0,1002,1;X7,260000222a1327"), "OK");
	ask(f, "c");
	assert_int_equal(f->fake.at, 42);
	assert_string_equal(ask(f, "Z0,1002,1;X7,26000022321327"), "OK");
	assert_int_equal(f->fake.n_points, 1);
	ask(f, "c");
	assert_int_equal(f->fake.at, 50);
	ask(f, "bc");
	assert_int_equal(f->fake.at, 0);
	/* One that cannot be told stops. */
	assert_string_equal(ask(f, "Z0,1002,1;X4,22001727"), "OK");
	ask(f, "c");
	assert_int_equal(f->fake.at, 2);
}

static void monitor_answers(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(ask(f, "qRcmd,68656c70"), "OK"); /* help */
	wbuf_u8(&f->console, 0);
	assert_int_equal(f->console.data[0], 'O');
	assert_string_equal(ask(f, "qRcmd,787878"), "E16"); /* xxx */
}

static int say_args(void *ctx, const char *args, struct wbuf *out)
{
	put_fmt(out, "%s(%s)", (char *)ctx, args);
	return 0;
}

static void monitor_finds_the_longest_name(void **state)
{
	static const struct gdb_monitor table[] = {
		{"samples",	    "",	"x",  say_args},
		{"samples top", "[N]", "y",  say_args},
		{NULL,	       NULL,  NULL, NULL    },
	};
	static const struct {
		const char *line, *out;
		int r;
	} rows[] = {
		{"samples top 5",	  "a(5)",	  0	   },
		      {"  samples   top  ", "a()",	   0	    },
		{"samples topmost",   "a(topmost)", 0	   },
		      {"samplestop",	     NULL,	   -EINVAL},
		{"help nothing",	 NULL,	       -EINVAL},
		      {"",		   NULL,	 0	  },
	};
	struct wbuf out = {0};
	char ctx[] = "a";

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		wbuf_reset(&out);
		assert_int_equal(monitor_run(table, ctx, rows[i].line, &out), rows[i].r);
		wbuf_u8(&out, 0);
		if (rows[i].out)
			assert_string_equal(out.data, rows[i].out);
	}
	wbuf_free(&out);
}

static void objects_come_in_pieces(void **state)
{
	struct fixture *f = *state;
	struct wbuf whole = {0};
	size_t at = 0;
	char p[64], kind;

	do {
		const char *got;

		snprintf(p, sizeof(p), "qXfer:features:read:target.xml:%zx,100", at);
		got = ask(f, p);
		kind = got[0];
		wbuf_bytes(&whole, got + 1, f->reply.len - 2);
		at = whole.len;
	} while (kind == 'm');
	assert_int_equal(kind, 'l');
	assert_memory_equal(whole.data + whole.len - 9, "</target>", 9);
	wbuf_free(&whole);
}

#define T(fn) cmocka_unit_test(fn)
#define D(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(codec_takes_frames),
		T(codec_round_trips),
		T(codec_bounds_frames),
		T(scans_numbers_and_threads),
		T(agent_computes),
		T(agent_survives_anything),
		T(registers_fit_their_description),
		T(registers_come_back),
		T(signals_round_trip),
		T(monitor_finds_the_longest_name),
		D(dispatch_answers),
		D(supported_is_negotiated),
		D(runs_both_ways),
		D(conditions_decide),
		D(monitor_answers),
		D(objects_come_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
