/* Two threads that work for a moment and sleep for a moment, until the input ends. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static volatile int steps;

__attribute__((noinline)) static void step(void)
{
	steps++;
}

__attribute__((noinline)) static void burst(void)
{
	for (int i = 0; i < 2000; i++)
		step();
}

static void *work(void *context)
{
	for (;;) {
		burst();
		usleep(3000);
	}
	return context;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	puts("works");
	fflush(stdout);
	return getchar() == EOF;
}
