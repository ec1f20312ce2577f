/* 400 threads that did little and live on while one is busy: 30,000 calls, then a mark. */
#include <pthread.h>

#define HIDE __attribute__((noinline, noclone))
#define THREADS 400

static pthread_barrier_t come, go;

HIDE void work(void);
HIDE void mark_me(void);

HIDE void work(void)
{
	__asm__ volatile("nop; nop; nop; nop" ::: "memory");
}

HIDE void mark_me(void)
{
	__asm__ volatile("nop; nop; nop; nop; nop" ::: "memory"); /* room for a jump, and not the same as work() */
}

static void *body(void *unused)
{
	for (int i = 0; i < 20; i++)
		work();
	pthread_barrier_wait(&come);
	pthread_barrier_wait(&go);
	return unused;
}

int main(void)
{
	static pthread_t threads[THREADS];

	pthread_barrier_init(&come, NULL, THREADS + 1);
	pthread_barrier_init(&go, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, body, NULL))
			return 1;
	pthread_barrier_wait(&come);
	for (int i = 0; i < 30000; i++)
		work();
	mark_me();
	for (int i = 0; i < 2000; i++)
		work();
	pthread_barrier_wait(&go);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
