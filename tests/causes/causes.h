/* What the programs of this directory share: a call `serve` that takes long, and a crowd beside it.
 *
 * PROGRAM cause      serve takes LONG_US, for the reason that the program is named after
 * PROGRAM control    the same calls without the reason: none is slow
 * PROGRAM crowd      as cause, among 16 threads that take 64 mutexes of their own, and hold them for long, in decoy
 *
 * With CAUSES_AWAIT in the environment it begins once its input has ended: the test waits until its mutexes are filtered. */
#ifndef CAUSES_H
#define CAUSES_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OUT __attribute__((noinline, noclone))
#define CROWD 16
#define LOCKS 64
#define LONG_US 400000

static bool caused; /* the reason is there */
static atomic_bool over;
static pthread_mutex_t crowd_locks[LOCKS];

/* Holds a mutex for longer than the culprit does what it does; nobody waits for it that serve waits for. */
OUT void decoy(int lock)
{
	pthread_mutex_lock(&crowd_locks[lock]);
	usleep(LONG_US + 20000);
	pthread_mutex_unlock(&crowd_locks[lock]);
}

static void *decoy_thread(void *number)
{
	for (int lock = (int)(long)number; !over; lock = (lock + CROWD) % LOCKS)
		decoy(lock);
	return NULL;
}

/* Of a program that the test is to talk to, or to its recorder, meanwhile. */
__attribute__((unused)) static void say_ready(void)
{
	if (write(1, "ready\n", 6) != 6)
		abort();
}

__attribute__((unused, noinline, noclone)) static void await_input(void)
{
	char byte;

	while (read(0, &byte, 1) > 0)
		;
}

static pthread_t crowd[CROWD];
static int crowd_size;

static void begin(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "cause";

	caused = strcmp(mode, "control");
	if (getenv("CAUSES_AWAIT")) {
		say_ready();
		await_input();
	}
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&crowd_locks[i], NULL);
	for (long i = 0; i < CROWD && !strcmp(mode, "crowd"); i++)
		pthread_create(&crowd[crowd_size++], NULL, decoy_thread, (void *)i);
}

static void end(void)
{
	over = true;
	for (int i = 0; i < crowd_size; i++)
		pthread_join(crowd[i], NULL);
}
#endif
