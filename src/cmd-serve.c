/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cmd-serve.c - playhead serve: a recording behind the GDB remote protocol.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd.h"
#include "replay/gdb.h"

#define DEFAULT_PORT 1234

static bool to_u32(const char *s, u32 max, u32 *v)
{
	char *end;
	unsigned long n = strtoul(s, &end, 10);

	if (*s < '0' || *s > '9' || *end || n > max)
		return false;
	*v = n;
	return true;
}

static int serve(const char *given, const struct gdb_server_opts *so, u32 pid)
{
	static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
	struct gdb_host_opts ho = {.pid = pid};
	struct gdb_server *server = NULL;
	struct gdb_host *host = NULL;
	char dir[4096];
	int r;

	if (trace_dir_find(given, dir, sizeof(dir)) < 0 || gdb_server_open(&server, so) < 0)
		return 1;
	gdb_server_end_by(server, ends, ARRAY_SIZE(ends));
	ho.server = server;
	r = gdb_host_open(&host, dir, &ho);
	if (!r) {
		if (!so->stdio)
			printf("In gdb, type:\n    target extended-remote %s\n",
			       gdb_server_address(server));
		fflush(stdout);
		r = gdb_server_run(server, gdb_host_target(host));
		if (r < 0)
			log_error("serving ended: %s", strerror(-r));
	}
	gdb_host_close(host);
	gdb_server_close(server);
	return r < 0;
}

enum { OPT_LISTEN = 256, OPT_STDIO, OPT_KEEP, OPT_ONCE, OPT_PROCESS };

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{"port",		 required_argument, NULL, 'p'},
		{"listen",		   required_argument, NULL, OPT_LISTEN},
		{"stdio",		  no_argument, NULL, OPT_STDIO},
		{"keep",no_argument, NULL, OPT_KEEP},
		{"once",	 no_argument, NULL, OPT_ONCE},
		{"process",	    required_argument, NULL, OPT_PROCESS},
		{0		  },
	};
	struct gdb_server_opts so = {.port = DEFAULT_PORT};
	u32 pid = 0, port;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "p:", options, NULL)) != -1) {
		switch (c) {
		case 'p':
			if (!to_u32(optarg, 65535, &port))
				return cmd_usage_error(&cmd_serve, "'%s' is not a port",
						       optarg);
			so.port = port;
			break;
		case OPT_LISTEN:
			so.listen = optarg;
			break;
		case OPT_STDIO:
			so.stdio = true;
			break;
		case OPT_KEEP:
			so.keep = true;
			break;
		case OPT_ONCE:
			so.once = true;
			break;
		case OPT_PROCESS:
			if (!to_u32(optarg, INT32_MAX, &pid))
				return cmd_usage_error(&cmd_serve, "'%s' is no process id",
						       optarg);
			break;
		default:
			return cmd_bad_option(&cmd_serve, argv);
		}
	}
	if (argc - optind > 1)
		return cmd_usage_error(&cmd_serve, "one recording at a time");
	return serve(argv[optind], &so, pid);
}

const struct cmd cmd_serve = {
	.name = "serve",
	.args = "[-p PORT | --listen ADDR | --stdio] [DIR]",
	.summary = "serve a recording to gdb, which can run it in both directions",
	.help = "  -p, --port PORT     on this machine only; 0: any free one (1234)\n"
		"      --listen unix:PATH  a socket in the file system instead\n"
		"      --listen ADDR:PORT  another address; whoever reaches it may read "
		"all\n"
		"      --stdio         at stdin and stdout; in gdb:\n"
		"                      target extended-remote | playhead serve --stdio "
		"DIR\n"
		"      --process PID   the process to serve (the first one)\n"
		"      --keep          go on after gdb has detached or killed\n"
		"      --once          end with the first connection\n"
		"\nDIR is a recording's folder or name; the latest one if it is left "
		"out.\n"
		"\nWithout --keep and --once: a connection that breaks is waited for "
		"anew,\nand gdb's detach, kill and quit end the server.\n",
	.run = run,
};
