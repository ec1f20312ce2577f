/* Requests with numbers go from one thread to another, and come back: one of them takes 80 ms from submit to complete. With an argument
 * the program does all of it once a line that it reads, and says so. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

#define REQUESTS 40
#define SLOW 17
#define SLOW_US 80000

static sem_t there, done;
static volatile int last, completed;

__attribute__((noinline)) void submit(int number, const char *what)
{
	last = number;
	__asm__ volatile("" : : "r"(what) : "memory");
	sem_post(&there);
}

__attribute__((noinline)) void complete(const char *what, long number)
{
	completed = (int)number;
	__asm__ volatile("" : : "r"(what) : "memory");
}

__attribute__((noinline)) void look_up(int number)
{
	if (number == SLOW)
		usleep(SLOW_US);
}

static void *serve(void *argument)
{
	for (;;) {
		int number;

		sem_wait(&there);
		number = last;
		look_up(number);
		complete("served", number);
		sem_post(&done);
		if (number < 0)
			return argument;
	}
}

static void ask(int number)
{
	submit(number, "asked");
	sem_wait(&done);
}

int main(int argc, char **argv)
{
	char line[16];
	pthread_t thread;

	(void)argv;
	sem_init(&there, 0, 0);
	sem_init(&done, 0, 0);
	pthread_create(&thread, NULL, serve, NULL);
	puts("ready");
	fflush(stdout);
	while (argc == 1 || fgets(line, sizeof line, stdin)) {
		for (int i = 0; i < REQUESTS; i++)
			ask(i);
		if (argc == 1)
			break;
		puts("done");
		fflush(stdout);
	}
	ask(-1);
	pthread_join(thread, NULL);
	return 0;
}
