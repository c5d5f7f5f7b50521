/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads and children that are killed while they are busy. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include "target.h"

static void *spin(void *arg)
{
	for (;;)
		target_work(1, 100000);
	return NULL;
}

int main(void)
{
	pthread_t t;
	int status;
	pid_t pid;

	for (int i = 0; i < 3; i++) {
		pid = fork();
		if (!pid) {
			pthread_create(&t, NULL, spin, NULL);
			pthread_create(&t, NULL, spin, NULL);
			spin(NULL);
		}
		usleep(10000);
		kill(pid, i ? SIGKILL : SIGTERM);
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(WTERMSIG(status) == (i ? SIGKILL : SIGTERM));
	}
	puts("killed");
	return 0;
}
