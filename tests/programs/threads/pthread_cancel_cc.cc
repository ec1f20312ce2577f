/* Cancellation runs C++ destructors and passes through catch (...) that throws on.
 *
 * flags: -pthread
 * expect: destructors 11, catchers 11
 */
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
#include "check.h"

static int destructors, catchers;
static sem_t ready;
struct Guard { NOINLINE ~Guard() { destructors++; } };

NOINLINE static void wait_at(int depth)
{
	Guard guard;
	try {
		if (depth) {
			wait_at(depth - 1);
		} else {
			sem_post(&ready);
			for (;;)
				pause();
		}
	} catch (...) {
		catchers++;
		throw;
	}
	BARRIER;
}
static void *body(void *) { wait_at(10); return nullptr; }

int main()
{
	pthread_t thread;
	sem_init(&ready, 0, 0);
	pthread_create(&thread, nullptr, body, nullptr);
	sem_wait(&ready);
	pthread_cancel(thread);
	pthread_join(thread, nullptr);
	printf("destructors %d, catchers %d\n", destructors, catchers);
}
