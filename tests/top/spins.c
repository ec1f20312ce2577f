/* A thread that makes one call, which runs and waits for nothing, until the input ends. */
#include <pthread.h>
#include <stdio.h>

static volatile int ends;
static volatile unsigned long turns;

__attribute__((noinline)) static void spin(void)
{
	while (!ends)
		turns++;
}

static void *work(void *context)
{
	spin();
	return context;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work, NULL);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	ends = 1;
	return pthread_join(thread, NULL);
}
