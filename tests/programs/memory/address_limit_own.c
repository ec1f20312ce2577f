/* RLIMIT_AS that the program sets itself, and of which it needs a good part: it has all of it, and no more, and finds the figures that
 * it has set. What it executes inherits these.
 *
 * flags: -pthread
 * run: libc -> 0
 * run: prlimit -> 0
 * run: syscall -> 0
 * run: soft -> 0
 * expect: 48 MiB granted, 48 more refused, 4 threads, worked 2001
 * expect: soft 80, refused EINVAL, then 80
 * expect: soft 80
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

#define MIB (1ul << 20)
#define LIMIT (80 * MIB) /* of which the program itself has about 5 */

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

static int set(const char *way, const struct rlimit *limit)
{
	if (!strcmp(way, "prlimit"))
		return prlimit(getpid(), RLIMIT_AS, limit, NULL);
	if (!strcmp(way, "syscall"))
		return syscall(SYS_prlimit64, 0, RLIMIT_AS, limit, NULL);
	return setrlimit(RLIMIT_AS, limit);
}

static unsigned long get(const char *way)
{
	struct rlimit limit;

	if (!strcmp(way, "prlimit"))
		CHECK(!prlimit(0, RLIMIT_AS, NULL, &limit));
	else if (!strcmp(way, "syscall"))
		CHECK(!syscall(SYS_getrlimit, RLIMIT_AS, &limit));
	else
		CHECK(!getrlimit(RLIMIT_AS, &limit));
	CHECK(limit.rlim_max == (strcmp(way, "soft") ? limit.rlim_cur : RLIM_INFINITY));
	return limit.rlim_cur / MIB;
}

static const char *take(void)
{
	void *memory = mmap(NULL, 48 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? "refused" : "granted";
}

int main(int count, char **arguments)
{
	const char *way = arguments[1];
	pthread_attr_t attributes;
	pthread_t threads[4];
	int made = 0;

	if (count == 3) {
		printf("soft %lu\n", get(way));
		return 0;
	}
	CHECK(count == 2);
	work(2000); /* the stack has grown */
	CHECK(!set(way, &(struct rlimit){ LIMIT, strcmp(way, "soft") ? LIMIT : RLIM_INFINITY }));
	const char *first = take(), *second = take();
	pthread_attr_init(&attributes);
	CHECK(!pthread_attr_setstacksize(&attributes, 65536));
	for (int i = 0; i < 4; i++)
		made += !pthread_create(&threads[i], &attributes, body, NULL);
	for (int i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
	printf("48 MiB %s, 48 more %s, %d threads, worked %d\n", first, second, made, work(2000));
	unsigned long before = get(way);
	int refused = set(way, &(struct rlimit){ 2 * LIMIT, LIMIT }) ? errno : 0;
	printf("soft %lu, refused %s, then %lu\n", before, refused == EINVAL ? "EINVAL" : "otherwise", get(way));
	fflush(stdout);
	execl("/nonexistent", "nothing", NULL);
	execl("/proc/self/exe", arguments[0], way, "executed", NULL);
	return 1;
}
