/* Threads that call functions as fast as they can, in an order that each thread's number gives, and count in a file what they have done:
 *   kept COUNTS THREADS SECONDS
 * A line of COUNTS is a thread's: how many calls have returned, and its id. SECONDS 0: until it is killed. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "kept.h"

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE static long tick_0(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}
NOINLINE static long tick_1(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 2;
}
NOINLINE static long tick_2(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 3;
}
NOINLINE static long tick_3(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 4;
}
NOINLINE static long mark_me(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x ^ 1;
}

static struct kept_line *lines;
static time_t end;

static void *work(void *argument)
{
	static long (*const functions[KEPT_FUNCTIONS])(long) = { tick_0, tick_1, tick_2, tick_3, mark_me };
	struct kept_line *line = argument;
	uint64_t thread = (uint64_t)(line - lines);
	long x = 0;

	__atomic_store_n(&line->thread_id, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (uint64_t i = 0; !end || i % 65536 || time(NULL) < end; i++) {
		x = functions[kept_function(thread, i)](x);
		__atomic_store_n(&line->calls, i + 1, __ATOMIC_RELEASE);
	}
	return (void *)x;
}

int main(int argc, char **argv)
{
	long threads = atol(argv[2]), seconds = atol(argv[3]);
	pthread_t ids[KEPT_THREADS];
	int fd = open(argv[1], O_RDWR | O_CLOEXEC);

	lines = mmap(NULL, KEPT_THREADS * sizeof *lines, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (argc != 4 || fd < 0 || lines == MAP_FAILED || threads > KEPT_THREADS)
		return 2;
	end = seconds ? time(NULL) + seconds : 0;
	for (long i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, work, &lines[i]);
	for (long i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
