/* Eight threads that run the function which is about to be hooked, and signals that must all arrive meanwhile. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>
#include "program.h"

#define THREADS 8

#define EACH10(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define EACH(X)                                                                                                                            \
	EACH10(X, 1) EACH10(X, 2) EACH10(X, 3) EACH10(X, 4) EACH10(X, 5) EACH10(X, 6) EACH10(X, 7) EACH10(X, 8) EACH10(X, 9) EACH10(X, 10)
/* target_10 to target_109. Their first instructions are several: a thread may be between any two of them. */
#define DEFINE(n)                                                                                                                          \
	__attribute__((noinline, noclone)) int target_##n(int x);                                                                          \
	__attribute__((noinline, noclone)) int target_##n(int x)                                                                           \
	{                                                                                                                                  \
		__asm__ volatile("nop\n\tnop\n\tnop\n\tlea 1(%0), %0\n\tnop\n\tnop\n\tlea -1(%0), %0" : "+r"(x));                          \
		return x + n;                                                                                                              \
	}
EACH(DEFINE)
#define NAME(n) target_##n,
static int (*const targets[LATE_TARGETS])(int) = { EACH(NAME) };

static _Atomic int current;
static int pairs; /* the one after it runs, too, in turn */
static atomic_bool over;
static atomic_ullong wrong, taken;
static unsigned long long sent;

int late_target(int number, int x)
{
	return targets[number](x);
}

static void *spin(void *argument)
{
	double kept = 1.25, other = 2.5;
	unsigned round = 0;

	while (!atomic_load_explicit(&over, memory_order_relaxed)) {
		int number = atomic_load_explicit(&current, memory_order_relaxed) + (pairs && round++ % 2);

		for (int i = 0; i < 1000; i++) {
			__asm__ volatile("" : "+x"(kept), "+x"(other));
			if (targets[number](i) != i + number + 10)
				atomic_fetch_add(&wrong, 1);
			__asm__ volatile("" : "+x"(kept), "+x"(other));
		}
		if (kept != 1.25 || other != 2.5)
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

static void handle(int signal)
{
	taken++;
}

/* Queued signals, one after the other: none may be lost, none doubled. */
static void *send_signals(void *argument)
{
	pthread_t *threads = argument;

	while (!over) {
		if (!pthread_sigqueue(threads[sent % THREADS], SIGRTMIN + 3, (union sigval){ 0 }))
			sent++;
		usleep(200);
	}
	return NULL;
}

/* "N": target N runs from now on. At the end of the input: "wrong W sent S taken T". */
void late_threads(int in_pairs)
{
	pthread_t threads[THREADS], sender;
	int number;

	sigaction(SIGRTMIN + 3, &(struct sigaction){ .sa_handler = handle, .sa_flags = SA_RESTART }, NULL);
	pairs = in_pairs;
	for (int i = 0; i < THREADS; i++)
		check(!pthread_create(&threads[i], NULL, spin, NULL), "thread");
	check(!pthread_create(&sender, NULL, send_signals, threads), "thread");
	puts("ready");
	fflush(stdout);
	while (scanf("%d", &number) == 1) {
		current = number;
		puts("done");
		fflush(stdout);
	}
	over = 1;
	pthread_join(sender, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("wrong %llu sent %llu taken %llu\n", (unsigned long long)wrong, sent, (unsigned long long)taken);
}

/* A loop that begins within the bytes of a patch, says that a thread is in it, and ends with `over`. */
int loops_early(const atomic_bool *end, atomic_bool *looping);
__asm__(".text\n.p2align 4\n.type loops_early,@function\nloops_early:\n.cfi_startproc\n"
	"	xor %eax, %eax\n1:	pause\n	movb $1, (%rsi)\n	cmpb $0, (%rdi)\n	je 1b\n	mov $7, %eax\n	ret\n"
	".cfi_endproc\n.size loops_early, .-loops_early\n");

static void stop_spinning(int signal)
{
	over = 1;
}

/* One thread that calls a hooked function, and is in the hook most of the time. On SIGUSR1: ten times target_10 to target_19. */
void late_inside(void)
{
	int x = 0;

	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = stop_spinning }, NULL);
	puts("ready");
	fflush(stdout);
	while (!over)
		check(late_target(99, 1) == 110, "spin");
	for (int i = 0; i < 100; i++)
		x += late_target(i % 10, 0);
	printf("sum %d\n", x);
}

static void *say_that_it_loops(void *looping)
{
	while (!*(atomic_bool *)looping)
		sched_yield();
	puts("ready");
	fflush(stdout);
	return NULL;
}

/* Is in that loop until SIGUSR1 comes, and calls it twice more. */
void late_loops(void)
{
	atomic_bool looping = false;
	pthread_t speaker;
	int x = 0;

	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = stop_spinning }, NULL);
	check(!pthread_create(&speaker, NULL, say_that_it_loops, &looping), "pthread_create");
	for (int i = 0; i < 3; i++)
		x += loops_early(&over, &looping);
	check(!pthread_join(speaker, NULL), "pthread_join");
	printf("sum %d\n", x);
}
