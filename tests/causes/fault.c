/* A call that writes to memory that it has just been given, page by page. */
#include <sys/mman.h>
#include "causes.h"

#define BYTES (64u << 20)

static long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}

OUT void touch(char *memory)
{
	memset(memory, 1, BYTES);
}

static char *get(void)
{
	char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, BYTES, MADV_NOHUGEPAGE))
		abort();
	return memory;
}

OUT void serve(char *used)
{
	long long end = now_us() + LONG_US;

	touch(used);
	while (caused && now_us() < end) {
		char *fresh = get();

		touch(fresh);
		munmap(fresh, BYTES);
	}
}

int main(int argc, char **argv)
{
	char *used = get();

	begin(argc, argv);
	touch(used);
	serve(used);
	end();
}
