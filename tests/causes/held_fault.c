/* Six calls that write to memory page by page, and do as much besides that the faults may be half of it; for a while of the last
 * the kernel doesn't let them run. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include "causes.h"

#define CALLS 6
#define PAGES 6000
#define PAGE 4096
#define RUN_NS (PAGES * 6000ll) /* by the thread's own clock */
#define HELD_NS 80000000

/* A part of fill(): as a function of its own, it would be named where the machine takes the CPU away in it. */
static inline __attribute__((always_inline)) long long cpu_ns(void)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

OUT void fill(volatile char *memory, bool held)
{
	long long end = cpu_ns() + RUN_NS;

	for (long page = 0; page < PAGES; page++)
		memory[page * PAGE] = 1;
	while (cpu_ns() < end)
		;
	if (held)
		syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = HELD_NS }, NULL);
}

OUT void serve(void)
{
	for (int i = 0; i < CALLS; i++) {
		char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED || madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE))
			abort();
		fill(memory, caused && i == CALLS - 1);
	}
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	serve();
	end();
}
