/* A program that gives libc's restartable sequences back to the kernel, and some threads that register their own instead.
 *
 * flags: -pthread
 * run: ends -> 0
 * run: own -> 0
 * counts: yes
 * expect: given back
 * expect: calls leaf 90000
 */
#include <errno.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include "check.h"

#define SIGNATURE 0x53053053

extern const ptrdiff_t __rseq_offset;
extern const unsigned int __rseq_size;
static __thread struct rseq own __attribute__((aligned(32)));
static const char *how;
static volatile int handled;

NOINLINE long leaf(long n)
{
	BARRIER;
	return n + 1;
}
NOINLINE void in_handler(void)
{
	BARRIER;
	handled++;
}
static void on_alarm(int number)
{
	in_handler();
}

static void count(void)
{
	for (long i = 0; i < 10000; i++)
		leaf(i);
}

static void *body(void *unused)
{
	void *libcs = (char *)__builtin_thread_pointer() + __rseq_offset;

	count();
	CHECK(syscall(SYS_rseq, &own, 32, 0, SIGNATURE) == -1 && errno == EINVAL);
	CHECK(!syscall(SYS_rseq, libcs, 32, RSEQ_FLAG_UNREGISTER, SIGNATURE));
	count();
	if (!strcmp(how, "own"))
		CHECK(!syscall(SYS_rseq, &own, 32, 0, SIGNATURE));
	count();
	return NULL;
}

int main(int argc, char **argv)
{
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, off = { 0 };
	pthread_t threads[2];

	how = argv[1];
	CHECK(__rseq_size);
	signal(SIGALRM, on_alarm);
	CHECK(!setitimer(ITIMER_REAL, &often, NULL));
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, body, NULL));
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(threads[i], NULL));
	body(NULL);
	CHECK(!setitimer(ITIMER_REAL, &off, NULL));
	printf("given back\ncalls leaf %d\n", 90000);
	return 0;
}
