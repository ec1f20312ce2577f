/* pthread_exit eleven frames deep unwinds them; detached threads do the same while main goes on.
 *
 * flags: -pthread
 * expect: unwound 11
 * expect: detached 220
 */
#include <atomic>
#include <pthread.h>
#include <semaphore.h>
#include "check.h"

static std::atomic<int> unwound;
static sem_t done;
struct Guard { NOINLINE ~Guard() { unwound++; } };

NOINLINE static void exit_at(int depth)
{
	Guard guard;
	if (!depth)
		pthread_exit(nullptr);
	exit_at(depth - 1);
	BARRIER;
}
static void *joined(void *) { exit_at(10); return nullptr; }
struct Post { ~Post() { sem_post(&done); } };
static void *detached(void *) { Post post; exit_at(10); return nullptr; }

int main()
{
	pthread_t thread;
	pthread_create(&thread, nullptr, joined, nullptr);
	pthread_join(thread, nullptr);
	printf("unwound %d\n", unwound.exchange(0));
	sem_init(&done, 0, 0);
	for (int i = 0; i < 20; i++) {
		pthread_create(&thread, nullptr, detached, nullptr);
		pthread_detach(thread);
	}
	for (int i = 0; i < 20; i++)
		sem_wait(&done);
	printf("detached %d\n", unwound.load());
}
