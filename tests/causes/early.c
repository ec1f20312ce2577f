/* A call that neighbours keep from its CPU, and behind it a program that does much else: a line of input begins what the line says.
 *
 *   serve      serve() runs, on a CPU that neighbours keep busy
 *   go         two threads hand a byte to and fro, with many calls between, until the input ends */
#include <sched.h>
#include <stdio.h>
#include "causes.h"

#define NEIGHBOURS 7
#define RUN_MS 40
#define CALLS 3000 /* a round */

static int there[2], back[2];

OUT void neighbour(void)
{
	while (!over)
		;
}

static void *neighbour_thread(void *unused)
{
	neighbour();
	return unused;
}

static long long cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

OUT void serve(void)
{
	long long end = cpu_ms() + RUN_MS;

	while (cpu_ms() < end)
		for (volatile int i = 0; i < 100000; i++)
			;
}

static void serve_among_neighbours(void)
{
	pthread_t threads[NEIGHBOURS];
	cpu_set_t one, all;

	sched_getaffinity(0, sizeof all, &all);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one); /* what begins from here on has it, too */
	for (int i = 0; i < NEIGHBOURS; i++)
		pthread_create(&threads[i], NULL, neighbour_thread, NULL);
	serve();
	over = true;
	for (int i = 0; i < NEIGHBOURS; i++)
		pthread_join(threads[i], NULL);
	sched_setaffinity(0, sizeof all, &all);
}

OUT void tick(void)
{
	__asm__ volatile("");
}

static void *answer_thread(void *context)
{
	char byte;

	while (read(there[0], &byte, 1) == 1)
		if (write(back[1], &byte, 1) != 1)
			abort();
	return context;
}

static void *end_thread(void *done)
{
	await_input();
	*(atomic_bool *)done = true;
	return NULL;
}

OUT void ask(void)
{
	char byte = 0;

	for (int i = 0; i < CALLS; i++)
		tick();
	if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
		abort();
}

static void go(void)
{
	static atomic_bool done;
	pthread_t thread, end;

	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, answer_thread, NULL) ||
	    pthread_create(&end, NULL, end_thread, &done))
		abort();
	while (!done)
		ask();
	close(there[1]);
	pthread_join(end, NULL);
	pthread_join(thread, NULL);
}

int main(void)
{
	char line[16];

	say_ready();
	setvbuf(stdin, NULL, _IONBF, 0); /* go() reads of itself */
	while (fgets(line, sizeof line, stdin)) {
		if (!strcmp(line, "serve\n"))
			serve_among_neighbours();
		if (write(1, "done\n", 5) != 5)
			abort();
		if (!strcmp(line, "go\n"))
			go();
	}
	return 0;
}
