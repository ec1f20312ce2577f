/* RLIMIT_AS set by the program after its start: later requests of a tracer may fail, and must not take it along.
 *
 * expect: refused, deep 20001, fresh 100, caught 3
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "check.h"

static sigjmp_buf target;
NOINLINE static int work(int depth)
{
	int n = depth ? work(depth - 1) : 0;

	BARRIER;
	return n + 1;
}
NOINLINE static int fresh(int n)
{
	BARRIER;
	return work(n % 50) == n % 50 + 1;
} /* not called before the limit */
static void on_signal(int number)
{
	siglongjmp(target, 1);
}

int main(void)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };
	volatile int count = 0, caught = 0;

	work(30000); /* the stack has grown: also for the frame of a signal where it is deepest below */
	CHECK(!setrlimit(RLIMIT_AS, &limit));
	void *place = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 100; i++)
		count += fresh(i);
	signal(SIGUSR1, on_signal);
	for (volatile int i = 0; i < 3; i++) {
		if (!sigsetjmp(target, 1))
			raise(SIGUSR1);
		else
			caught++;
	}
	printf("%s, deep %d, fresh %d, caught %d\n", place == MAP_FAILED ? "refused" : "granted", work(20000), count, caught);
	return 0;
}
