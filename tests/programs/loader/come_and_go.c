/* A plugin that comes and goes 10,000 times: whatever is kept of it is kept once.
 * expect: cycles 10000
 * expect: flat
 * library: libcome.so lib/come.c
 * trace: --modules=* --on-full=block
 * compilers: gcc
 * levels: -O2
 * pie: yes
 */
#include <dlfcn.h>
#include "check.h"

#define CYCLES 10000

static int mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	int lines = 0, c;

	CHECK(file);
	while ((c = fgetc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

NOINLINE static long cycle(long n)
{
	void *handle = dlopen("libcome.so", RTLD_NOW);
	long (*come)(long);

	CHECK(handle);
	come = (long (*)(long))dlsym(handle, "come");
	CHECK(come);
	n = come(n);
	CHECK(!dlclose(handle));
	return n;
}

int main(void)
{
	long n = 0;
	int before = 0;

	for (int i = 0; i < CYCLES; i++) {
		n = cycle(n);
		if (i == 10)
			before = mappings();
	}
	printf("cycles %ld\n", n);
	CHECK(mappings() <= before + 4);
	puts("flat");
	return 0;
}
