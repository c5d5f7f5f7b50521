/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names and lines of this very program, of damaged copies of it, and of the
 * address spaces that a written trace goes through. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "sym/elf-file.h"
#include "sym/funcs.h"
#include "sym/object.h"
#include "sym/sym.h"
#include "sym/tables.h"

#define SELF "/proc/self/exe"

static char top[64];

/* What the tests look for; its address and line are known. */
static int own_line;
__attribute__((noinline)) int own_function(int n);
__attribute__((noinline)) int own_function(int n)
{
	own_line = __LINE__;
	return n + own_line;
}

/* The mapping of this program that holds own_function. */
static struct map own_map(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	struct map m = {0};
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &m.start, &m.end,
			   &m.offset) == 3 &&
		    (u64)own_function >= m.start && (u64)own_function < m.end)
			break;
	}
	fclose(f);
	assert_true((u64)own_function >= m.start && (u64)own_function < m.end);
	return m;
}

static u64 own_offset(void)
{
	struct map m = own_map();

	return (u64)own_function - m.start + m.offset;
}

/* ---- ranges ---- */

static void add(struct funcs *f, u64 start, u64 end, u8 rank, bool sized, const char *name)
{
	struct func fn = {.start = start, .end = end, .rank = rank, .sized = sized};

	assert_int_equal(funcs_add(f, &fn, name, ""), 0);
}

static void funcs_find_the_nearest_that_covers(void **state)
{
	static const struct {
		u64 addr;
		const char *name;
	} cases[] = {
		{0x0ff,	NULL    },
		    {0x100,	    "outer" },
		      {0x120,      "inner" },
		 {0x12f,	 "inner" },
		{0x130,	"outer" },
		    {0x145,	    "outer" }, /* not the label in it */
		{0x1ff,	"outer" },
		    {0x200,	    NULL	},
		      {0x300,      "strong"},
		 {0x400,	 "open"  },
		{0x4ff,	"open"  },
		    {0x500,	    "last"  },
		      {0xfff,      "last"  },
		 {0x1000,	  NULL    },
		{UINT64_MAX, NULL	 },
	};
	struct funcs f = {0};

	add(&f, 0x500, 0x1000, 0, false, "last");
	add(&f, 0x400, 0x1000, 0, false, "open");
	add(&f, 0x300, 0x310, 4, true, "weak");
	add(&f, 0x300, 0x310, 2, true, "strong");
	add(&f, 0x140, 0x1000, 0, false, "label");
	add(&f, 0x120, 0x130, 0, true, "inner");
	add(&f, 0x100, 0x200, 0, true, "outer");
	add(&f, 0x20, 0x10, 0, true, "backwards");
	add(&f, 0x20, 0x30, 0, true, "");
	funcs_sort(&f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct func *fn = funcs_find(&f, cases[i].addr);

		if (cases[i].name)
			assert_string_equal(funcs_name(&f, fn), cases[i].name);
		else
			assert_null(fn);
	}
	funcs_fini(&f);
}

static void no_funcs_are_found_in_none(void **state)
{
	struct funcs f = {0};

	funcs_sort(&f);
	assert_null(funcs_find(&f, 0));
	funcs_fini(&f);
}

/* ---- this program ---- */

static void own_function_is_named_with_its_line(void **state)
{
	struct object *o;
	u64 vaddr, start;
	const char *source;
	int line;

	own_function(1);
	assert_int_equal(object_load(&o, SELF, SELF), 0);
	assert_true(object_vaddr(o, own_offset(), &vaddr));
	assert_string_equal(object_func(o, vaddr + 1, &start), "own_function");
	assert_int_equal(start, vaddr);
	assert_null(object_func(o, UINT64_MAX, &start));
	assert_false(object_vaddr(o, UINT64_MAX, &vaddr));
	source = object_line(o, start, &line);
	assert_non_null(source);
	assert_non_null(strstr(source, "test-sym.c"));
	/* The line of the opening brace, right before the one that was noted. */
	assert_in_range(line, own_line - 2, own_line);
	object_free(o);
}

static void frames_name_what_has_no_symbol(void **state)
{
	struct elf_file file;
	struct funcs f = {0};
	const struct func *fn;
	struct object *o;
	char want[32];
	u64 vaddr;

	assert_int_equal(object_load(&o, SELF, SELF), 0);
	assert_true(object_vaddr(o, own_offset(), &vaddr));
	object_free(o);
	assert_int_equal(elf_file_open(&file, SELF), 0);
	assert_int_equal(tables_frames(&f, file.elf), 0);
	funcs_sort(&f);
	fn = funcs_find(&f, vaddr + 1);
	assert_non_null(fn);
	assert_int_equal(fn->start, vaddr);
	snprintf(want, sizeof(want), "fn@%#" PRIx64, vaddr);
	assert_string_equal(funcs_name(&f, fn), want);
	funcs_fini(&f);
	elf_file_close(&file);
}

static void plt_stubs_have_the_name_of_their_function(void **state)
{
	struct elf_file file;
	struct funcs f = {0};
	bool found = false;

	assert_int_equal(elf_file_open(&file, SELF), 0);
	assert_int_equal(tables_plt(&f, file.elf), 0);
	for (size_t i = 0; i < f.n; i++)
		found |= !strcmp(funcs_name(&f, &f.v[i]), "snprintf@plt") ||
			 !strcmp(funcs_name(&f, &f.v[i]), "fopen@plt") ||
			 !strcmp(funcs_name(&f, &f.v[i]), "strstr@plt");
	assert_true(found);
	funcs_fini(&f);
	elf_file_close(&file);
}

static void what_is_no_elf_file_is_refused(void **state)
{
	struct object *o;

	assert_int_equal(object_load(&o, "/proc/self/maps", "x"), -EBADMSG);
	assert_null(o);
	assert_int_equal(object_load(&o, "/dev/null", "x"), -EBADMSG);
	assert_int_equal(object_load(&o, "/", "x"), -EBADMSG);
	assert_int_equal(object_load(&o, "/nonexistent", "x"), -ENOENT);
}

/* ---- damage ---- */

static u8 *slurp(const char *path, size_t *n)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	u8 *p;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	p = malloc(st.st_size);
	assert_non_null(p);
	assert_int_equal(read(fd, p, st.st_size), st.st_size);
	close(fd);
	*n = st.st_size;
	return p;
}

static void use(const char *path, u64 off)
{
	struct object *o;
	u64 vaddr = off, start;
	int line;

	if (object_load(&o, path, "/nonexistent/x"))
		return;
	if (!object_vaddr(o, off, &vaddr))
		vaddr = off;
	object_func(o, vaddr, &start);
	object_line(o, vaddr, &line);
	object_free(o);
}

static void put(const char *path, const u8 *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, n), n);
	close(fd);
}

static void damaged_files_do_no_harm(void **state)
{
	u64 seed = 88172645463325252ULL, off = own_offset();
	char path[128];
	size_t n;
	u8 *p = slurp(SELF, &n);

	snprintf(path, sizeof(path), "%s/damaged", top);
	for (int i = 0; i < 300; i++) {
		size_t at[16];
		u8 old[16];

		for (int k = 0; k < 16; k++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			/* Headers lie at both ends; every third aims at them. */
			at[k] = i % 3 == 0   ? seed % 1024
				: i % 3 == 1 ? n - 1 - seed % 4096
					     : seed % n;
			old[k] = p[at[k]];
			p[at[k]] = seed >> 32;
		}
		put(path, p, i % 5 ? n : seed % n);
		use(path, off);
		for (int k = 16; k-- > 0;)
			p[at[k]] = old[k];
	}
	for (size_t cut = 0; cut < n; cut += n / 97 + 1) {
		put(path, p, cut);
		use(path, off);
	}
	unlink(path);
	free(p);
}

/* ---- a trace's address spaces ---- */

#define CODE   ((u64)own_function)
#define OTHER  0x10000000UL
#define KERNEL 0xffffffff81000010UL

static struct effect map_at(u64 addr, u64 len, u64 offset, u32 file, const char *name)
{
	struct effect e = {.kind = EF_MAP, .addr = addr, .len = len};

	e.map.prot = PROT_READ | PROT_EXEC;
	e.map.flags = MAP_PRIVATE;
	e.map.offset = offset;
	e.map.file = file;
	e.map.name = name;
	return e;
}

static void put_event(struct trace_writer *w, u8 type, u32 pid, u32 tid, struct effect *e)
{
	struct event ev = {
		.type = type, .pid = pid, .tid = tid, .effects = e, .n_effects = e ? 1 : 0};

	if (type == EV_EXEC)
		ev.exe = "/x";
	assert_int_equal(trace_writer_event(w, &ev), 0);
}

static void put_fork(struct trace_writer *w, u32 pid, u32 child_pid, u32 child, bool share)
{
	struct effect e = {.kind = EF_FORK};
	struct regs regs = {0};

	e.fork.pid = child_pid;
	e.fork.tid = child;
	e.fork.share = share;
	e.fork.regs = &regs;
	put_event(w, EV_SYSCALL, pid, pid, &e);
}

static void put_sample(struct trace_writer *w, u8 kind, u32 pid, u64 ip, u64 kernel)
{
	struct sample s = {.pid = pid, .tid = pid, .kind = kind, .weight = 1};

	s.point.event = trace_writer_last(w);
	s.point.tid = pid;
	s.point.regs.r[X86_RIP] = ip;
	s.n_kernel = kernel != 0;
	s.kernel[0] = kernel;
	assert_int_equal(trace_writer_sample(w, &s), 0);
}

static const struct trace_meta meta = {
	.sample_hz = 1000,
	.sampler = SAMPLER_BPF,
	.sampler_why = "",
	.program = "p",
	.args = "p",
	.cwd = "/",
	.host = "h",
	.kernel = "k",
	.cpu = "c",
};

/* What each sample put below is to be named: function, file. */
static const struct expected {
	const char *func, *file;
	bool kernel;
} expected[] = {
	{"own_function", "/bin/self", false}, /* the parent */
	{"own_function", "/bin/self", false}, /* its fork, a copy */
	{NULL,	       "?",	    false}, /* the fork after its munmap */
	{"own_function", "/bin/self", false}, /* the parent does not care */
	{NULL,	       "[anon]",	 false}, /* the vfork child maps for both */
	{NULL,	       "[anon]",	 false}, /* and the parent sees it */
	{NULL,	       "[jit]",	false}, /* the vfork child after exec */
	{NULL,	       "?",	    false}, /* where the old image is gone */
	{"own_function", "/bin/self", false}, /* the parent still does not care */
	{"own_function", "/bin/self", false}, /* inside its own munmap */
	{"ksym",	 "[kernel]",  true }, /* in the kernel */
	{NULL,	       "?",	    false}, /* of a process that never was */
};

static void write_trace(const char *dir)
{
	struct map m = own_map();
	int fd = open(SELF, O_RDONLY);
	const struct trace_end end = {.clean = true, .why = ""};
	struct effect e,
		unmap = {.kind = EF_UNMAP, .addr = m.start, .len = m.end - m.start};
	struct trace_writer *w;
	u32 file;

	assert_int_equal(trace_writer_new(&w, dir, &meta), 0);
	assert_int_equal(trace_writer_file(w, fd, "/bin/self", &file), 0);
	close(fd);
	assert_int_equal(trace_writer_ksym(w, KERNEL, "ksym"), 0);
	put_event(w, EV_START, 1, 1, NULL);
	e = map_at(m.start, m.end - m.start, m.offset, file, "/bin/self");
	put_event(w, EV_EXEC, 1, 1, &e);
	put_sample(w, SAMPLE_USER, 1, CODE, 0);
	put_fork(w, 1, 2, 2, false);
	put_sample(w, SAMPLE_USER, 2, CODE, 0);
	put_event(w, EV_SYSCALL, 2, 2, &unmap);
	put_sample(w, SAMPLE_USER, 2, CODE, 0);
	put_sample(w, SAMPLE_USER, 1, CODE, 0);
	put_event(w, EV_EXIT, 2, 2, NULL);
	put_fork(w, 1, 3, 3, true);
	e = map_at(OTHER, PAGE_BYTES, 0, 0, "");
	put_event(w, EV_SYSCALL, 3, 3, &e);
	put_sample(w, SAMPLE_USER, 3, OTHER, 0);
	put_sample(w, SAMPLE_USER, 1, OTHER, 0);
	e = map_at(OTHER, PAGE_BYTES, 0, 0, "[jit]");
	put_event(w, EV_EXEC, 3, 3, &e);
	put_sample(w, SAMPLE_USER, 3, OTHER, 0);
	put_sample(w, SAMPLE_USER, 3, CODE, 0);
	put_sample(w, SAMPLE_USER, 1, CODE, 0);
	put_event(w, EV_SYSCALL, 1, 1, &unmap);
	put_sample(w, SAMPLE_SYSCALL, 1, CODE, 0);
	put_sample(w, SAMPLE_SYSCALL, 1, CODE, KERNEL);
	put_sample(w, SAMPLE_USER, 9, CODE, 0);
	assert_int_equal(trace_writer_close(w, &end), 0);
}

struct seen {
	struct sym *sym;
	size_t n;
};

static int check_name(void *ctx, const struct sample *s, const struct maps *maps)
{
	struct seen *seen = ctx;
	const struct expected *want = &expected[seen->n];
	struct sym_name n;

	assert_true(seen->n < ARRAY_SIZE(expected));
	assert_int_equal(s->number, ++seen->n);
	assert_int_equal(sym_sample_name(seen->sym, s, maps, &n), want->kernel);
	assert_string_equal(n.file, want->file);
	if (want->func)
		assert_string_equal(n.func, want->func);
	else
		assert_null(n.func);
	return 0;
}

static int stop_at_third(void *ctx, const struct sample *s, const struct maps *maps)
{
	return s->number == 3 ? 42 : 0;
}

static void samples_are_named_in_their_address_space(void **state)
{
	struct trace_reader *r;
	struct seen seen = {0};
	char dir[128];

	snprintf(dir, sizeof(dir), "%s/trace", top);
	assert_int_equal(mkdir(dir, 0700), 0);
	write_trace(dir);
	assert_int_equal(trace_reader_open(&r, dir), 0);
	assert_int_equal(sym_new(&seen.sym, r), 0);
	assert_int_equal(sym_each_sample(r, check_name, &seen), 0);
	assert_int_equal(seen.n, ARRAY_SIZE(expected));
	assert_int_equal(sym_each_sample(r, stop_at_third, NULL), 42);
	sym_free(seen.sym);
	trace_reader_free(r);
}

static int setup(void **state)
{
	strcpy(top, "/tmp/test-sym-XXXXXX");
	log_set_level(LOG_ERROR);
	return mkdtemp(top) ? 0 : -1;
}

static int teardown(void **state)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", top);
	return system(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(funcs_find_the_nearest_that_covers),
		cmocka_unit_test(no_funcs_are_found_in_none),
		cmocka_unit_test(own_function_is_named_with_its_line),
		cmocka_unit_test(frames_name_what_has_no_symbol),
		cmocka_unit_test(plt_stubs_have_the_name_of_their_function),
		cmocka_unit_test(what_is_no_elf_file_is_refused),
		cmocka_unit_test(damaged_files_do_no_harm),
		cmocka_unit_test(samples_are_named_in_their_address_space),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
