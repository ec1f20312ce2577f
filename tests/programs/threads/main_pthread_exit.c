/* The main thread ends by pthread_exit; another prints later and ends the process by returning.
 *
 * flags: -pthread
 * run: -> 0
 * expect: main is gone
 * expect: at exit
 */
#include <errno.h>
#include <pthread.h>
#include "check.h"

static pthread_t main_thread;
NOINLINE static int work(int depth)
{
	int n = depth ? work(depth - 1) : 0;

	BARRIER;
	return n + 1;
}
static void at_exit(void)
{
	puts("at exit");
}

static void *body(void *unused)
{
	pthread_join(main_thread, NULL);
	CHECK(work(10) == 11);
	puts("main is gone");
	return NULL;
}

int main(void)
{
	pthread_t thread;

	main_thread = pthread_self();
	atexit(at_exit);
	pthread_create(&thread, NULL, body, NULL);
	work(5);
	pthread_exit(NULL);
}
