/* Asynchronous cancellation of threads in the midst of calls, wherever they are: the destructors of those who called run, each
 * once.
 *
 * flags: -pthread
 * trace: --on-full=block
 * expect: 120 threads, destructors 240
 */
#include <pthread.h>
#include "check.h"

static volatile int destructors;
struct Guard { NOINLINE ~Guard() { destructors = destructors + 1; } };
static volatile bool running;

/* Without destructors, so without a table of their own of where cancellation may not come. */
extern "C" {
NOINLINE static long leaf(long n) { BARRIER; return n + 1; }
NOINLINE static long tail(long n) { return leaf(n); }
NOINLINE static long fib(long n) { long sum = n < 2 ? n : fib(n - 1) + fib(n - 2); BARRIER; return sum; }
NOINLINE static void hot(void)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
	running = true;
	for (volatile long sum = 0;;)
		sum = sum + leaf(sum) + tail(sum) + fib(5);
}
}

NOINLINE static void inner(void) { Guard guard; hot(); BARRIER; }
NOINLINE static void outer(void) { Guard guard; inner(); BARRIER; }
static void *body(void *) { outer(); return nullptr; }

int main()
{
	int threads = 0;
	for (; threads < 120; threads++) {
		pthread_t thread;
		void *result;
		running = false;
		CHECK(!pthread_create(&thread, nullptr, body, nullptr));
		while (!running)
			__builtin_ia32_pause();
		for (volatile int i = 0; i < threads; i++)
			;
		CHECK(!pthread_cancel(thread));
		CHECK(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
	}
	printf("%d threads, destructors %d\n", threads, destructors);
}
