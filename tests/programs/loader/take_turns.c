/* Two plugins that take turns at the same place: each is the module again that it was.
 * expect: turns 2000
 * expect: flat
 * library: libfirst.so lib/come.c -Wl,-soname,libfirst.so
 * library: libsecond.so lib/come.c -Wl,-soname,libsecond.so
 * trace: --modules=* --on-full=block
 * compilers: gcc
 * levels: -O2
 * pie: yes
 */
#include <dlfcn.h>
#include "check.h"

#define TURNS 2000

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

NOINLINE static long turn(const char *name, long n)
{
	void *handle = dlopen(name, RTLD_NOW);
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

	for (int i = 0; i < TURNS; i++) {
		n = turn(i % 2 ? "libsecond.so" : "libfirst.so", n);
		if (i == 20)
			before = mappings();
	}
	printf("turns %ld\n", n);
	CHECK(mappings() <= before + 4);
	puts("flat");
	return 0;
}
