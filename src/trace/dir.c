/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "trace/trace.h"

static int fmt(char *out, size_t n, const char *a, const char *b)
{
	return (size_t)snprintf(out, n, "%s%s", a, b) >= n ? -ENAMETOOLONG : 0;
}

int trace_home(char *out, size_t n)
{
	const char *s = getenv("PLAYHEAD_DIR");

	if (s && *s)
		return fmt(out, n, s, "");
	s = getenv("XDG_DATA_HOME");
	if (s && *s == '/')
		return fmt(out, n, s, "/playhead");
	s = getenv("HOME");
	if (s && *s)
		return fmt(out, n, s, "/.local/share/playhead");
	log_error("no place for traces: set PLAYHEAD_DIR or HOME");
	return -ENOENT;
}

static int make_parents(const char *path)
{
	char p[PATH_MAX];

	if (strlen(path) >= sizeof(p))
		return -ENAMETOOLONG;
	strcpy(p, path);
	for (char *s = p + 1;; s++) {
		char c = *s;

		if (c && c != '/')
			continue;
		*s = '\0';
		if (mkdir(p, 0700) && errno != EEXIST)
			return -errno;
		*s = c;
		if (!c)
			return 0;
	}
}

/* `latest` is replaced by rename: there is always one that points somewhere. */
static int point_latest(const char *home, const char *name)
{
	char tmp[PATH_MAX], link[PATH_MAX];

	if ((size_t)snprintf(tmp, sizeof(tmp), "%s/.latest.%d", home, getpid()) >=
		    sizeof(tmp) ||
	    (size_t)snprintf(link, sizeof(link), "%s/latest", home) >= sizeof(link))
		return -ENAMETOOLONG;
	unlink(tmp);
	if (symlink(name, tmp))
		return -errno;
	return rename(tmp, link) ? -errno : 0;
}

/* The program's name as a file name that shows in listings. */
static void base_name(const char *program, char *out, size_t n)
{
	const char *base = strrchr(program, '/');

	snprintf(out, n, "%s", base && base[1] ? base + 1 : program);
	for (char *s = out; *s; s++)
		if ((u8)*s <= ' ' || *s == 0x7f || *s == '/' ||
		    (s == out && (*s == '.' || *s == '-')))
			*s = '_';
	if (!*out)
		snprintf(out, n, "_");
}

static int create_numbered(const char *home, const char *program, char *out, size_t n)
{
	char base[201], name[NAME_MAX];
	int err;

	base_name(program, base, sizeof(base));
	for (unsigned i = 0; i < 1000000; i++) {
		snprintf(name, sizeof(name), "%s-%u", base, i);
		if ((size_t)snprintf(out, n, "%s/%s", home, name) >= n)
			return -ENAMETOOLONG;
		if (!mkdir(out, 0700)) {
			err = point_latest(home, name);
			if (err)
				log_warn("cannot set %s/latest: %s", home, strerror(-err));
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

int trace_dir_create(const char *dir, const char *program, char *out, size_t n)
{
	char home[PATH_MAX];
	int err;

	if (dir) {
		err = fmt(out, n, dir, "");
		if (!err && mkdir(out, 0700))
			err = -errno;
		if (err)
			log_error("cannot make the trace folder %s: %s", dir,
				  strerror(-err));
		return err;
	}
	err = trace_home(home, sizeof(home));
	if (err)
		return err;
	err = make_parents(home);
	if (!err)
		err = create_numbered(home, program, out, n);
	if (err)
		log_error("cannot make a trace folder below %s: %s", home, strerror(-err));
	return err;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool has_meta(const char *path)
{
	char meta[PATH_MAX];

	return !fmt(meta, sizeof(meta), path, "/meta") && !access(meta, F_OK);
}

static void say_missing(const char *given, const char *home)
{
	if (!given)
		log_error("no trace below %s yet: record one with 'playhead record "
			  "PROGRAM'",
			  home);
	else if (!access(given, F_OK))
		log_error("%s is not a trace: it is not a folder", given);
	else if (!home[0])
		log_error("no trace at %s: there is no such folder", given);
	else
		log_error("no trace '%s' here or below %s; 'playhead list' shows those "
			  "there are",
			  given, home);
}

int trace_dir_find(const char *given, char *out, size_t n)
{
	char home[PATH_MAX] = "";
	int err;

	if (given && has_meta(given))
		return fmt(out, n, given, "");
	if (!given || !strchr(given, '/')) {
		err = trace_home(home, sizeof(home));
		if (err)
			return err;
		if ((size_t)snprintf(out, n, "%s/%s", home, given ? given : "latest") >= n)
			return -ENAMETOOLONG;
		if (has_meta(out))
			return 0;
	}
	/* Not a trace: name the folder that was meant, if there is one. */
	if (given && is_dir(given)) {
		err = fmt(out, n, given, "");
		if (err)
			return err;
	} else if (!home[0] || !is_dir(out)) {
		say_missing(given, home);
		return -ENOENT;
	}
	log_error("%s is not a trace: it has no meta file", out);
	return -EINVAL;
}
