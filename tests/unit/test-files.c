/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where traces live, and the files kept in them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "trace/files.h"
#include "trace/trace.h"

static char top[64], home[96];

static const struct trace_meta meta = {
	.sampler_why = "",
	.program = "prog",
	.args = "prog",
	.cwd = "/",
	.host = "h",
	.kernel = "k",
	.cpu = "c",
};

static void make_trace(const char *program, char out[PATH_MAX])
{
	struct trace_end end = {.clean = true, .why = ""};
	struct trace_writer *w;

	/* File times go by ticks of the kernel: let one pass between traces. */
	usleep(15000);
	assert_int_equal(trace_dir_create(NULL, program, out, PATH_MAX), 0);
	assert_int_equal(trace_writer_new(&w, out, &meta), 0);
	assert_int_equal(trace_writer_close(w, &end), 0);
}

static void latest_is(const char *want)
{
	char link[128], got[128];
	ssize_t n;

	snprintf(link, sizeof(link), "%s/latest", home);
	n = readlink(link, got, sizeof(got) - 1);
	if (!want) {
		assert_int_equal(n, -1);
		return;
	}
	assert_true(n > 0);
	got[n] = '\0';
	assert_string_equal(got, want);
}

struct seen {
	char names[256];
};

static int see(void *ctx, const char *path, bool latest)
{
	struct seen *s = ctx;
	size_t n = strlen(s->names);

	snprintf(s->names + n, sizeof(s->names) - n, "%s%s ", strrchr(path, '/') + 1,
		 latest ? "*" : "");
	return 0;
}

static void listed_are(const char *want)
{
	struct seen s = {0};

	assert_int_equal(trace_dir_each(see, &s), 0);
	assert_string_equal(s.names, want);
}

static void traces_are_numbered_and_removed(void **state)
{
	char a[PATH_MAX], b[PATH_MAX], c[PATH_MAX], found[PATH_MAX];
	struct stat st;

	listed_are("");
	make_trace("/bin/prog", a);
	assert_int_equal(stat(a, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_string_equal(strrchr(a, '/'), "/prog-0");
	latest_is("prog-0");
	make_trace("prog", b);
	make_trace("other", c);
	listed_are("prog-0 prog-1 other-0* ");
	assert_int_equal(trace_dir_find(NULL, found, sizeof(found)), 0);
	assert_int_equal(trace_dir_find("prog-1", found, sizeof(found)), 0);
	assert_string_equal(found, b);
	assert_int_equal(trace_dir_find(a, found, sizeof(found)), 0);
	assert_string_equal(found, a);
	/* Not the latest: the link stays. */
	assert_int_equal(trace_dir_remove(a), 0);
	latest_is("other-0");
	assert_int_equal(trace_dir_remove(c), 0);
	latest_is("prog-1");
	listed_are("prog-1* ");
	/* The number that is free is taken. */
	make_trace("prog", a);
	listed_are("prog-1 prog-0* ");
	assert_int_equal(trace_dir_remove(a), 0);
	assert_int_equal(trace_dir_remove(b), 0);
	latest_is(NULL);
	listed_are("");
}

static void odd_names_are_listed(void **state)
{
	static const struct {
		const char *program, *want;
	} cases[] = {
		{"./.hidden", "_hidden-0*"},
		     {"-x",	    "_x-0*"	   },
		{"a b\n",	  "a_b_-0*"   },
		     {"/",	   "_-0*"	 },
		{"latest",	   "latest-0*" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char path[PATH_MAX], want[64];

		make_trace(cases[i].program, path);
		snprintf(want, sizeof(want), "%s ", cases[i].want);
		listed_are(want);
		assert_int_equal(trace_dir_remove(path), 0);
	}
}

static void what_is_no_trace_is_left_alone(void **state)
{
	char path[PATH_MAX], found[PATH_MAX];
	struct stat st;

	log_set_level(LOG_SILENT);
	snprintf(path, sizeof(path), "%s/folder", top);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(trace_dir_remove(path), -EINVAL);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(trace_dir_find(path, found, sizeof(found)), -EINVAL);
	assert_int_equal(trace_dir_remove("/nowhere/at/all"), -ENOENT);
	assert_int_equal(trace_dir_find("/nowhere/at/all", found, sizeof(found)), -ENOENT);
	assert_int_equal(trace_dir_find("/proc/version", found, sizeof(found)), -ENOENT);
	assert_int_equal(trace_dir_find("absent", found, sizeof(found)), -ENOENT);
	assert_int_equal(trace_dir_find(NULL, found, sizeof(found)), -ENOENT);
	assert_int_equal(trace_dir_create(path, "x", found, sizeof(found)), -EEXIST);
	log_set_level(LOG_INFO);
}

static void what_is_being_recorded_is_not_removed(void **state)
{
	struct trace_end end = {.clean = true, .why = ""};
	struct trace_writer *w;
	char path[PATH_MAX];

	assert_int_equal(trace_dir_create(NULL, "live", path, PATH_MAX), 0);
	assert_int_equal(trace_writer_new(&w, path, &meta), 0);
	assert_true(trace_dir_is_live(path));
	assert_int_equal(trace_dir_remove(path), -EBUSY);
	assert_int_equal(trace_writer_close(w, &end), 0);
	assert_false(trace_dir_is_live(path));
	assert_int_equal(trace_dir_remove(path), 0);
	assert_false(trace_dir_is_live(path));
}

/* A folder here that only has the same name does not hide a trace. */
static void a_folder_here_does_not_hide_a_trace(void **state)
{
	char path[PATH_MAX], found[PATH_MAX];

	make_trace("prog", path);
	assert_int_equal(chdir(top), 0);
	assert_int_equal(mkdir("prog-0", 0700), 0);
	assert_int_equal(trace_dir_find("prog-0", found, sizeof(found)), 0);
	assert_string_equal(found, path);
	assert_int_equal(trace_dir_remove(path), 0);
}

/* ---- files ---- */

struct keep {
	char dir[128];
	int dirfd;
	struct files *f;
};

static void keep_begin(struct keep *k)
{
	static int n;

	snprintf(k->dir, sizeof(k->dir), "%s/keep-%d", top, n++);
	assert_int_equal(mkdir(k->dir, 0700), 0);
	k->dirfd = open(k->dir, O_RDONLY | O_DIRECTORY);
	assert_true(k->dirfd >= 0);
	assert_int_equal(files_new(&k->f, k->dirfd), 0);
}

static void keep_end(struct keep *k)
{
	files_free(k->f);
	close(k->dirfd);
}

static int open_new(const char *name, char path[128])
{
	int fd;

	snprintf(path, 128, "%s/%s", top, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	return fd;
}

static void kept_is(const struct keep *k, const struct trace_file *f, const void *data,
		    size_t n)
{
	u8 *got = malloc(n + 1);
	int fd = openat(k->dirfd, f->kept, O_RDONLY);

	assert_non_null(got);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, got, n + 1), n);
	assert_memory_equal(got, data, n);
	close(fd);
	free(got);
}

static void a_file_is_kept_once_and_as_it_was(void **state)
{
	struct trace_file a, b;
	struct keep k;
	char path[128];
	int fd = open_new("data", path);

	keep_begin(&k);
	assert_int_equal(write(fd, "hello", 5), 5);
	assert_int_equal(files_keep(k.f, fd, path, &a), 1);
	assert_int_equal(a.id, 1);
	assert_int_equal(a.size, 5);
	assert_string_equal(a.name, path);
	assert_int_equal(files_keep(k.f, fd, path, &b), 0);
	assert_int_equal(b.id, 1);
	/* Written after: the copy is another file. */
	assert_int_equal(pwrite(fd, "HELLO", 5, 0), 5);
	kept_is(&k, &a, "hello", 5);
	assert_int_equal(files_keep(k.f, fd, path, &b), 1);
	assert_int_equal(b.id, 2);
	kept_is(&k, &b, "HELLO", 5);
	keep_end(&k);
	close(fd);
}

/* Stores through a mapping need not change the time of the file. */
static void a_change_that_no_time_tells_is_seen(void **state)
{
	struct timespec times[2] = {{0}};
	struct trace_file f;
	struct stat st;
	struct keep k;
	char path[128], *p;
	int fd = open_new("mapped", path);

	keep_begin(&k);
	assert_int_equal(ftruncate(fd, 4096), 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	p[100] = 1;
	assert_int_equal(fstat(fd, &st), 0);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	assert_int_equal(files_keep(k.f, fd, path, &f), 1);
	p[100] = 2;
	assert_int_equal(futimens(fd, times), 0);
	assert_int_equal(files_keep(k.f, fd, path, &f), 1);
	kept_is(&k, &f, p, 4096);
	assert_int_equal(files_keep(k.f, fd, path, &f), 0);
	munmap(p, 4096);
	keep_end(&k);
	close(fd);
}

static void holes_stay_holes(void **state)
{
	const off_t size = 4L << 30;
	struct trace_file f;
	struct stat st;
	struct keep k;
	char path[128], got[4];
	int fd = open_new("holes", path), copy;

	keep_begin(&k);
	assert_int_equal(pwrite(fd, "mid", 3, 3L << 30), 3);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(files_keep(k.f, fd, path, &f), 1);
	copy = openat(k.dirfd, f.kept, O_RDONLY);
	assert_true(copy >= 0);
	assert_int_equal(fstat(copy, &st), 0);
	assert_int_equal(st.st_size, size);
	assert_true(st.st_blocks * 512 < 1 << 20);
	assert_int_equal(pread(copy, got, 3, 3L << 30), 3);
	assert_memory_equal(got, "mid", 3);
	close(copy);
	unlinkat(k.dirfd, f.kept, 0);
	keep_end(&k);
	close(fd);
	unlink(path);
}

/* Whoever can write the file afterwards must not write into the trace. */
static void only_what_stays_is_hard_linked(void **state)
{
	struct trace_file f;
	struct stat st, mine;
	struct keep k;
	char path[128];
	int fd = open_new("linked", path);

	keep_begin(&k);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(fstat(fd, &mine), 0);
	assert_int_equal(files_keep(k.f, fd, path, &f), 1);
	assert_int_equal(fstatat(k.dirfd, f.kept, &st, 0), 0);
	assert_int_not_equal(st.st_ino, mine.st_ino);
	close(fd);
	/* Whatever way a system's program is kept, it is the same bytes. */
	fd = open("/proc/self/exe", O_RDONLY);
	assert_int_equal(files_keep(k.f, fd, "/usr/bin/self", &f), 1);
	assert_int_equal(fstatat(k.dirfd, f.kept, &st, 0), 0);
	assert_int_equal(st.st_size, f.size);
	close(fd);
	keep_end(&k);
}

static void odd_files(void **state)
{
	struct trace_file f;
	struct keep k;
	char path[128];
	int fd;

	keep_begin(&k);
	fd = open("/dev/zero", O_RDONLY);
	assert_int_equal(files_keep(k.f, fd, "/dev/zero", &f), 1);
	assert_string_equal(f.kept, "");
	assert_int_equal(files_keep(k.f, fd, "/dev/zero", &f), 0);
	close(fd);
	fd = open_new("empty", path);
	assert_int_equal(files_keep(k.f, fd, path, &f), 1);
	kept_is(&k, &f, "", 0);
	/* Removed while open: there is no name to link, but bytes to copy. */
	assert_int_equal(write(fd, "gone", 4), 4);
	unlink(path);
	assert_int_equal(files_keep(k.f, fd, "/usr/lib/x (deleted)", &f), 1);
	kept_is(&k, &f, "gone", 4);
	close(fd);
	fd = memfd_create("mem", 0);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "mem", 3), 3);
	assert_int_equal(files_keep(k.f, fd, "/memfd:mem", &f), 1);
	kept_is(&k, &f, "mem", 3);
	close(fd);
	assert_int_equal(files_keep(k.f, -1, "none", &f), -EBADF);
	keep_end(&k);
}

static int setup(void **state)
{
	snprintf(top, sizeof(top), "/tmp/playhead-test-files-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(home, sizeof(home), "%s/a/home", top);
	return setenv("PLAYHEAD_DIR", home, 1);
}

static int teardown(void **state)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", top);
	return system(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(traces_are_numbered_and_removed),
		cmocka_unit_test(odd_names_are_listed),
		cmocka_unit_test(what_is_no_trace_is_left_alone),
		cmocka_unit_test(what_is_being_recorded_is_not_removed),
		cmocka_unit_test(a_folder_here_does_not_hide_a_trace),
		cmocka_unit_test(a_file_is_kept_once_and_as_it_was),
		cmocka_unit_test(a_change_that_no_time_tells_is_seen),
		cmocka_unit_test(holes_stay_holes),
		cmocka_unit_test(only_what_stays_is_hard_linked),
		cmocka_unit_test(odd_files),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
