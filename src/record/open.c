/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * open.c - make the trace folder and describe the recording.
 */
#include <cpuid.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "record/internal.h"

/* The words of @argv as one would type them to a shell. */
static void quote(struct wbuf *b, char **argv)
{
	for (int i = 0; argv[i]; i++) {
		bool plain =
			argv[i][0] && !argv[i][strcspn(argv[i], " \t\n'\"\\$`*?[]{}()<>|&;"
								"~#!=%")];

		if (i)
			wbuf_u8(b, ' ');
		if (!plain)
			wbuf_u8(b, '\'');
		for (const char *p = argv[i]; *p; p++) {
			if (*p == '\'')
				wbuf_bytes(b, "'\\''", 4);
			else
				wbuf_u8(b, *p);
		}
		if (!plain)
			wbuf_u8(b, '\'');
	}
	wbuf_u8(b, '\0');
}

static void cpu_model(char *out, size_t n)
{
	char line[256], *p;
	FILE *f = fopen("/proc/cpuinfo", "re");

	snprintf(out, n, "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "model name", 10) || !(p = strchr(line, ':')))
			continue;
		p[strcspn(p, "\n")] = '\0';
		snprintf(out, n, "%s", p + 2);
		break;
	}
	if (f)
		fclose(f);
}

static u64 xcr0(void)
{
	u32 a, d;

	__asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	return (u64)d << 32 | a;
}

static int write_meta(struct session *s)
{
	struct trace_meta m = {.version = TRACE_VERSION};
	struct wbuf args = {0};
	struct utsname u;
	struct timespec ts;
	char cwd[4096] = "", cpu[128], kernel[256];
	u32 a, b, c, d;
	int err;

	uname(&u);
	clock_gettime(CLOCK_REALTIME, &ts);
	quote(&args, s->opts->argv);
	if (args.err)
		return args.err;
	cpu_model(cpu, sizeof(cpu));
	snprintf(kernel, sizeof(kernel), "%s %s", u.sysname, u.release);
	if (!getcwd(cwd, sizeof(cwd)))
		cwd[0] = '\0';
	m.start_time_ns = ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
	m.sample_hz = s->sampler ? s->opts->hz : 0;
	m.sampler = s->sampler ? sampler_kind(s->sampler) : SAMPLER_NONE;
	m.sample_event = s->opts->wall;
	m.sampler_why = s->sampler ? sampler_why(s->sampler) : "";
	m.program = s->opts->argv[0];
	m.args = (char *)args.data;
	m.cwd = cwd;
	m.host = u.nodename;
	m.kernel = kernel;
	m.cpu = cpu;
	m.xcr0 = xcr0();
	if (__get_cpuid_count(0xd, 0, &a, &b, &c, &d))
		m.xstate_size = b;
	err = trace_writer_new(&s->w, s->dir, &m);
	wbuf_free(&args);
	return err;
}

int record_open(struct session *s)
{
	int cpu, err;

	err = launch_pin(&s->cpus, &cpu);
	if (err) {
		log_error("cannot pin to one CPU: %s", strerror(-err));
		return err;
	}
	s->cpu = cpu;
	err = samples_open(s);
	if (err)
		return err;
	err = trace_dir_create(s->opts->dir, s->opts->argv[0], s->dir, sizeof(s->dir));
	if (err)
		return err;
	err = write_meta(s);
	if (err)
		log_error("cannot write a trace in %s: %s", s->dir, strerror(-err));
	return err;
}
