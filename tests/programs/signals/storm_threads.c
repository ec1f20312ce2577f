/* Signals directed at three busy threads at the rate that another can send them, half of them on alternate stacks.
 *
 * flags: -pthread
 * expect: sums right, 3000 handled
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include "check.h"

static volatile int stop;
static int handled, started;
NOINLINE static long leaf(long x)
{
	BARRIER;
	return x * 2;
}
NOINLINE static long deep(int depth)
{
	long n = depth ? deep(depth - 1) : 0;

	BARRIER;
	return n + 1;
}
static void on_signal(int number)
{
	deep(4);
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void *body(void *alternate)
{
	char *memory = malloc(1 << 16);
	stack_t stack = { .ss_sp = memory, .ss_size = 1 << 16 };

	if (alternate)
		sigaltstack(&stack, NULL);
	__atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
	while (!stop) {
		CHECK(leaf(21) == 42);
		CHECK(deep(10) == 11);
	}
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART };
	pthread_t threads[3];

	sigaction(SIGRTMIN, &action, NULL);
	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, body, (void *)(i & 1));
	while (__atomic_load_n(&started, __ATOMIC_SEQ_CST) < 3)
		sched_yield();
	for (int i = 0; i < 3000; i++) /* real-time signals queue: each one arrives */
		CHECK(!pthread_kill(threads[i % 3], SIGRTMIN));
	while (__atomic_load_n(&handled, __ATOMIC_RELAXED) < 3000)
		sched_yield();
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("sums right, %d handled\n", handled);
	return 0;
}
