#include "recorder/host/page.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/clock.h"

#define TRIES 4 /* so that one in which another program had the CPU isn't what is told */
#define PAGES 4

static int compare_tries(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

uint64_t ada_page_fault_ns(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = TRIES * PAGES * page;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t took_ns[TRIES];

	if (memory == MAP_FAILED)
		return 0;
	madvise(memory, bytes, MADV_NOHUGEPAGE); /* refused: the kernel has no huge pages */
	for (size_t i = 0; i < TRIES; i++) {
		uint64_t start_ns = ada_clock_boottime_ns();

		for (size_t k = 0; k < PAGES; k++)
			((volatile char *)memory)[(i * PAGES + k) * page] = 1;
		took_ns[i] = ada_clock_boottime_ns() - start_ns;
	}
	munmap(memory, bytes);
	qsort(took_ns, TRIES, sizeof *took_ns, compare_tries);
	return took_ns[TRIES / 2 - 1] / PAGES;
}
