/* RLIMIT_AS that the program brings from its parent, and of which it needs a good part: a tracer takes less then.
 *
 * expect: took 96 MiB, 20 threads, worked 2001
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "check.h"

NOINLINE static int work(int depth)
{
	int n = depth ? work(depth - 1) : 0;

	BARRIER;
	return n + 1;
}
static void *body(void *unused)
{
	return (void *)(long)work(100);
}

int main(int count, char **arguments)
{
	pthread_attr_t attributes;
	pthread_t threads[20];
	int taken = 0, made = 0;

	if (count == 1) {
		CHECK(!setrlimit(RLIMIT_AS, &(struct rlimit){ 256 << 20, 256 << 20 }));
		execl("/proc/self/exe", arguments[0], "limited", NULL);
		return 1;
	}
	for (int i = 0; i < 96; i++)
		taken += mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
	pthread_attr_init(&attributes);
	CHECK(!pthread_attr_setstacksize(&attributes, 65536));
	for (int i = 0; i < 20; i++)
		made += !pthread_create(&threads[i], &attributes, body, NULL);
	for (int i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
	printf("took %d MiB, %d threads, worked %d\n", taken, made, work(2000));
	return 0;
}
