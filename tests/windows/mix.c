/* Marks from everywhere at once: threads that mark and end, threads that go on, signal handlers, children of fork.
 *   mix SEED ROUNDS THREADS SPAN     (at most SPAN calls between two marks) */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define THREADS_MAX 16

static int span;

NOINLINE static long leaf(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}
NOINLINE static long mark_me(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x ^ 1;
}
NOINLINE static long node(long x)
{
	x = leaf(x);
	return leaf(x);
}

static void on_alarm(int number)
{
	mark_me(leaf(number));
}

static void *brief(void *argument)
{
	return (void *)mark_me((long)argument);
}

static void *work(void *argument)
{
	unsigned int seed = (unsigned int)(long)argument;
	pthread_t id;
	long x = 0;

	for (int marks = 0; marks < 20; marks++) {
		for (int i = rand_r(&seed) % span; i >= 0; i--)
			x = node(x);
		x = mark_me(x);
		if (marks % 8 == 0 && !pthread_create(&id, NULL, brief, (void *)x))
			pthread_join(id, NULL);
	}
	return (void *)x;
}

static void round_of(unsigned int seed, int threads)
{
	pthread_t ids[THREADS_MAX];

	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, work, (void *)(long)(seed * 100 + i));
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
}

int main(int argc, char **argv)
{
	unsigned int seed = argc > 1 ? atoi(argv[1]) : 1;
	int rounds = argc > 2 ? atoi(argv[2]) : 3, threads = argc > 3 ? atoi(argv[3]) : 4;
	struct itimerval timer = { { 0, 700 }, { 0, 700 } };

	span = argc > 4 ? atoi(argv[4]) : 3000;
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int i = 0; i < rounds; i++) {
		pid_t pid = i % 3 == 1 ? fork() : -1;

		round_of(seed + i, threads);
		if (!pid)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	puts("done");
	return 0;
}
