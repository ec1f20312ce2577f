/* mlockall without a limit, as root: what is locked is the program's own, all of it is there, and the flags mean what they say.
 *
 * needs: root
 * expect: current: few, there; future: few, there, then there; on fault: few, absent; no more future: absent; none
 */
#include <sys/mman.h>
#include "check.h"

#define PAGES 256
#define BYTES (PAGES * 4096)

NOINLINE static int work(int depth)
{
	int n = depth ? work(depth - 1) : 0;

	BARRIER;
	return n + 1;
}

static const char *locked(void)
{
	char line[256];
	long kib = -1;
	FILE *file = fopen("/proc/self/status", "r");

	CHECK(file && work(100) == 101);
	while (fgets(line, sizeof line, file))
		sscanf(line, "VmLck: %ld", &kib);
	fclose(file);
	return !kib ? "none" : kib < 12 << 10 ? "few" : "many";
}

static void *fresh(void)
{
	void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

static const char *there(void *memory)
{
	unsigned char pages[PAGES];
	int count = 0;

	CHECK(!mincore(memory, BYTES, pages));
	for (int i = 0; i < PAGES; i++)
		count += pages[i] & 1;
	return count == PAGES ? "there" : count ? "partly there" : "absent";
}

int main(void)
{
	void *memory = fresh();

	CHECK(!mlockall(MCL_CURRENT));
	printf("current: %s, %s; ", locked(), there(memory));
	memory = fresh();
	CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE));
	printf("future: %s, %s, then %s; ", locked(), there(memory), there(fresh()));
	CHECK(!munlockall());
	memory = fresh();
	CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT));
	printf("on fault: %s, %s; ", locked(), there(memory));
	CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE) && !mlockall(MCL_CURRENT));
	printf("no more future: %s; ", there(fresh()));
	CHECK(!munlockall());
	puts(locked());
	CHECK(mlockall(0) && mlockall(MCL_ONFAULT) && mlockall(1 << 20));
	return 0;
}
