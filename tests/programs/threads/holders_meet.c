/* 300 threads that wait for each other, each with a call in progress: all chunks of a small buffer are in the hands of those that came
 * first, and nothing is ever sealed. Who would wait for one (--on-full=block) must come to the barrier all the same.
 *
 * flags: -pthread
 * trace: --index-buffer=1M --on-full=block --detail=off
 * expect: 300 threads met
 * compilers: gcc
 * levels: -O0
 * pie: yes
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "check.h"

#ifdef TICK_US
/* A timer of this very thread's. Its handler is no function that is hooked: one that is would wait itself, with the signal blocked. */
static void tick(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM };
	struct itimerspec times = { { 0, TICK_US * 1000 }, { 0, TICK_US * 1000 } };
	struct sigaction action = { .sa_handler = (void (*)(int))(void *)abs, .sa_flags = SA_RESTART };
	timer_t timer;

	event._sigev_un._tid = (int)syscall(SYS_gettid);
	CHECK(!sigaction(SIGALRM, &action, NULL) && !timer_create(CLOCK_MONOTONIC, &event, &timer) &&
	      !timer_settime(timer, 0, &times, NULL));
}
#else
static void tick(void)
{
}
#endif

static pthread_barrier_t barrier;

NOINLINE static int dive(int depth)
{
	int n = 0;

	if (depth)
		n = dive(depth - 1);
	else
		pthread_barrier_wait(&barrier);
	BARRIER;
	return n + 1;
}

static void *body(void *met)
{
	tick();
	__atomic_fetch_add((int *)met, dive(100) == 101, __ATOMIC_RELAXED);
	return NULL;
}

int main(void)
{
	static pthread_t threads[300];
	pthread_attr_t attributes;
	int met = 0;

	tick();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 1 << 17);
	pthread_barrier_init(&barrier, NULL, 300);
	for (int i = 0; i < 300; i++)
		CHECK(!pthread_create(&threads[i], &attributes, body, &met));
	for (int i = 0; i < 300; i++)
		pthread_join(threads[i], NULL);
	printf("%d threads met\n", met);
	return 0;
}
