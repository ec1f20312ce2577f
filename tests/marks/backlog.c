/* 24 requests wait in a line while another thread serves them one by one, each longer than the one before: so the last takes longest, from
 * submit to complete and in serve alone. */
#include <pthread.h>
#include <unistd.h>

#define REQUESTS 24

static volatile int last;

__attribute__((noinline)) void submit(int number)
{
	last = number;
}

__attribute__((noinline)) void complete(int number)
{
	last = number;
}

__attribute__((noinline)) void serve(int number)
{
	usleep(2000 + 500 * number);
}

static void *run(void *argument)
{
	for (int number = 0; number < REQUESTS; number++) {
		serve(number);
		complete(number);
	}
	return argument;
}

int main(void)
{
	pthread_t thread;

	for (int number = 0; number < REQUESTS; number++)
		submit(number);
	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
}
