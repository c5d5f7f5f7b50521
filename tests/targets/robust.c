/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A robust mutex whose owner dies: thread and process; priority inheritance. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "target.h"

static void *die(void *m)
{
	CHECK(!pthread_mutex_lock(m));
	return NULL;
}

int main(void)
{
	pthread_mutex_t *m =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;
	pthread_t t;
	pid_t pid;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	CHECK(!pthread_mutex_init(m, &attr));
	CHECK(!pthread_create(&t, NULL, die, m));
	pthread_join(t, NULL);
	CHECK(pthread_mutex_lock(m) == EOWNERDEAD);
	CHECK(!pthread_mutex_consistent(m) && !pthread_mutex_unlock(m));
	pid = fork();
	if (!pid) {
		die(m);
		_exit(0);
	}
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK(pthread_mutex_lock(m) == EOWNERDEAD);
	CHECK(!pthread_mutex_consistent(m) && !pthread_mutex_unlock(m));
	puts("robust");
	return 0;
}
