/* SPDX-License-Identifier: GPL-3.0-or-later */
/* posix_spawn, system and popen: how most programs start others. */
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include "target.h"

extern char **environ;

int main(void)
{
	char *argv[] = {"sh", "-c", "echo spawned; exit 6", NULL}, line[64];
	posix_spawn_file_actions_t fa;
	int status;
	pid_t pid;
	FILE *f;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, 1, 2);
	CHECK(!posix_spawn(&pid, "/bin/sh", &fa, NULL, argv, environ));
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 6);
	CHECK(posix_spawnp(&pid, "no-such-program-here", NULL, NULL, argv, environ) ==
	      ENOENT);
	CHECK(WEXITSTATUS(system("exit 3")) == 3);
	CHECK((f = popen("echo one; echo two", "r")));
	CHECK(fgets(line, sizeof(line), f) && !strcmp(line, "one\n"));
	CHECK(fgets(line, sizeof(line), f) && !strcmp(line, "two\n"));
	CHECK(pclose(f) == 0);
	return 0;
}
