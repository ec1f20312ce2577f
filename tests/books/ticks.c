/* books_ticks BOOK TICKS THREADS CALLS SECONDS: threads that make so many calls a second together, evenly, and count them in BOOK as
 * program.c does. Ten times a second each calls counted_tick and puts into the file TICKS what CLOCK_BOOTTIME said before and after that. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "../programs/check.h"

#define THREADS_MAX 64u
#define TURNS_A_SECOND 1000u
#define TURN_NS (1000000000u / TURNS_A_SECOND)
#define TICK_TURNS 100u

struct entry {
	uint64_t tid, calls, ends, reserved;
};
struct tick {
	uint64_t tid, before_ns, after_ns, reserved;
};

static struct entry *book;
static int ticks;
static uint32_t used, calls_a_turn;
static uint64_t turns;
static __thread struct entry *own;

static NOINLINE void counted_step(void)
{
	__atomic_store_n(&own->calls, own->calls + 1, __ATOMIC_RELAXED);
	BARRIER;
	__atomic_store_n(&own->ends, own->ends + 1, __ATOMIC_RELAXED);
}

static NOINLINE void counted_tick(void)
{
	__atomic_store_n(&own->calls, own->calls + 1, __ATOMIC_RELAXED);
	__asm__ volatile("" ::: "memory"); /* so that it isn't the same function */
	BARRIER;
	__atomic_store_n(&own->ends, own->ends + 1, __ATOMIC_RELAXED);
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void tick(void)
{
	struct tick one = { .tid = own->tid, .before_ns = clock_ns() };

	counted_tick();
	one.after_ns = clock_ns();
	CHECK(write(ticks, &one, sizeof one) == sizeof one);
}

static void *run(void *argument)
{
	struct timespec next;

	own = &book[__atomic_fetch_add(&used, 1, __ATOMIC_RELAXED)];
	own->tid = (uint64_t)syscall(SYS_gettid);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (uint64_t turn = 0; turn < turns; turn++) {
		for (uint32_t i = 0; i < calls_a_turn; i++)
			counted_step();
		if (turn % TICK_TURNS == 0)
			tick();
		next.tv_nsec += TURN_NS;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return argument;
}

int main(int argc, char **argv)
{
	uint32_t threads = argc > 5 ? (uint32_t)atoi(argv[3]) : 0;
	int fd = argc > 5 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	pthread_t ids[THREADS_MAX];

	CHECK(fd >= 0 && threads && threads <= THREADS_MAX && !ftruncate(fd, sizeof *book * THREADS_MAX));
	book = mmap(NULL, sizeof *book * THREADS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ticks = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0600);
	CHECK(book != MAP_FAILED && ticks >= 0);
	calls_a_turn = (uint32_t)atoi(argv[4]) / threads / TURNS_A_SECOND;
	turns = strtoull(argv[5], NULL, 10) * TURNS_A_SECOND;
	for (uint32_t i = 0; i < threads; i++)
		CHECK(!pthread_create(&ids[i], NULL, run, NULL));
	for (uint32_t i = 0; i < threads; i++)
		CHECK(!pthread_join(ids[i], NULL));
	return 0;
}
