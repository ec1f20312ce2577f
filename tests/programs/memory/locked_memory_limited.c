/* mlockall within a limit that suffices for the program: a tracer's memory is neither locked nor counted, and what the program maps
 * and starts afterwards has room in the limit, too.
 *
 * needs: root
 * run: libc -> 0
 * run: syscall -> 0
 * flags: -pthread
 * expect: locked, 64 mapped, 4 threads, within the limit, worked 11
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "check.h"

#define LIMIT (8 << 20)

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

static long locked_kib(void)
{
	char line[256];
	long kib = -1;
	FILE *file = fopen("/proc/self/status", "r");

	CHECK(file);
	while (fgets(line, sizeof line, file))
		sscanf(line, "VmLck: %ld", &kib);
	fclose(file);
	return kib;
}

int main(int count, char **arguments)
{
	pthread_attr_t attributes;
	pthread_t threads[4];
	int mapped = 0, made = 0;

	CHECK(count == 2 && !setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ LIMIT, LIMIT }));
	CHECK(!seteuid(65534)); /* no longer permitted to lock more */
	int flags = MCL_CURRENT | MCL_FUTURE;
	int failed = strcmp(arguments[1], "libc") ? (int)syscall(SYS_mlockall, flags) : mlockall(flags);
	for (int i = 0; i < 64; i++)
		mapped += mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
	pthread_attr_init(&attributes);
	CHECK(!pthread_attr_setstacksize(&attributes, 65536));
	for (int i = 0; i < 4; i++)
		made += !pthread_create(&threads[i], &attributes, body, NULL);
	for (int i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
	long kib = locked_kib();
	printf("%s, %d mapped, %d threads, %s, worked %d\n", failed ? "not locked" : "locked", mapped, made,
	       kib > 1024 && kib < LIMIT >> 10 ? "within the limit" : "beyond it", work(10));
	return 0;
}
