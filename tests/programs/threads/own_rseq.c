/* Restartable sequences of the program's own, as tcmalloc and librseq register them: the kernel has one place a thread for that, and
 * it is the program's, at a thread's start or later. Signals come at any instruction meanwhile, and no event is lost or doubled.
 *
 * flags: -pthread
 * env: GLIBC_TUNABLES=glibc.pthread.rseq=0
 * run: start -> 0
 * run: later -> 0
 * run: raw -> 0
 * run: heap -> 0
 * run: signature -> 0
 * run: some -> 0
 * run: never -> 0
 * run: vfork -> 0
 * counts: yes
 * threads: open
 * expect: registered as asked, forks too
 * expect: calls leaf 250000
 */
#include <errno.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

#define SIGNATURE 0x53053053
#define CALLS 10000
#define THREADS 4

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

static void count(long times)
{
	for (long i = 0; i < times; i++)
		leaf(i);
}

static long raw(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;

	__asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return number;
}

/* Twice: the kernel says EBUSY to the same area, EINVAL to another one. */
static struct rseq *join(void)
{
	struct rseq *area = !strcmp(how, "heap") ? aligned_alloc(32, 64) : &own, other;
	long signature = !strcmp(how, "signature") ? 0x12345678 : SIGNATURE;

	memset(area, 0, sizeof *area);
	if (!strcmp(how, "raw")) {
		CHECK(!raw(SYS_rseq, (long)area, 32, 0, signature));
		CHECK(raw(SYS_rseq, (long)area, 32, 0, signature) == -EBUSY);
	} else {
		CHECK(!syscall(SYS_rseq, area, 32, 0, signature));
		CHECK(syscall(SYS_rseq, area, 32, 0, signature) == -1 && errno == EBUSY);
		CHECK(syscall(SYS_rseq, area, 32, 0, signature + 1) == -1);
	}
	CHECK((int)area->cpu_id >= 0 && area->cpu_id < 4096);
	return area;
}

static void part(struct rseq *area)
{
	CHECK(syscall(SYS_rseq, area, 32, RSEQ_FLAG_UNREGISTER, 7) == -1);
	count(CALLS);
	if (strcmp(how, "raw"))
		CHECK(!syscall(SYS_rseq, area, 32, RSEQ_FLAG_UNREGISTER, !strcmp(how, "signature") ? 0x12345678 : SIGNATURE));
	else
		CHECK(!raw(SYS_rseq, (long)area, 32, RSEQ_FLAG_UNREGISTER, SIGNATURE));
	count(CALLS);
}

static void *body(void *number)
{
	struct rseq *area = NULL;

	if (!strcmp(how, "never") || (!strcmp(how, "some") && (long)number % 2)) {
		count(5 * CALLS);
		return NULL;
	}
	if (strcmp(how, "start") && strcmp(how, "raw"))
		count(CALLS);
	area = join();
	count(!strcmp(how, "start") || !strcmp(how, "raw") ? 2 * CALLS : CALLS);
	if (!strcmp(how, "vfork")) {
		int status;
		pid_t pid = vfork();

		if (!pid) {
			static struct rseq childs __attribute__((aligned(32)));

			_exit(syscall(SYS_rseq, &childs, 32, 0, SIGNATURE) ? 3 : 4);
		}
		CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 4);
	}
	part(area);
	area = join();
	count(CALLS);
	if (!strcmp(how, "heap"))
		CHECK(!syscall(SYS_rseq, area, 32, RSEQ_FLAG_UNREGISTER, SIGNATURE));
	return NULL;
}

int main(int argc, char **argv)
{
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, off = { 0 };
	pthread_t threads[THREADS];
	int status;

	how = argv[1];
	signal(SIGALRM, on_alarm);
	CHECK(!setitimer(ITIMER_REAL, &often, NULL));
	body(NULL);
	for (long i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, body, (void *)i));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(!setitimer(ITIMER_REAL, &off, NULL));
	pid_t pid = fork();
	if (!pid)
		_exit(0);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	printf("registered as asked, forks too\ncalls leaf %d\n", 5 * CALLS * (THREADS + 1));
	return 0;
}
