/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Condition variables with broadcasts, read-write locks, barriers, semaphores. */
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include "target.h"

#define THREADS 6
#define ROUNDS	50

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static int round_now, waiting, value;

static void *run(void *arg)
{
	for (int r = 0; r < ROUNDS; r++) {
		pthread_mutex_lock(&lock);
		waiting++;
		while (round_now <= r)
			pthread_cond_wait(&cond, &lock);
		pthread_mutex_unlock(&lock);
		pthread_rwlock_rdlock(&rw);
		CHECK(value % 2 == 0);
		pthread_rwlock_unlock(&rw);
		pthread_barrier_wait(&barrier);
	}
	sem_post(&sem);
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];
	struct timespec at;

	pthread_barrier_init(&barrier, NULL, THREADS);
	sem_init(&sem, 0, 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, run, NULL));
	for (int r = 0; r < ROUNDS; r++) {
		pthread_mutex_lock(&lock);
		while (waiting < THREADS) {
			pthread_mutex_unlock(&lock);
			usleep(50);
			pthread_mutex_lock(&lock);
		}
		waiting = 0;
		round_now++;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&lock);
		pthread_rwlock_wrlock(&rw);
		value++;
		value++;
		pthread_rwlock_unlock(&rw);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(!sem_wait(&sem));
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK(!clock_gettime(CLOCK_REALTIME, &at));
	pthread_mutex_lock(&lock);
	CHECK(pthread_cond_timedwait(&cond, &lock, &at) == ETIMEDOUT);
	printf("%d rounds\n", round_now);
	return 0;
}
