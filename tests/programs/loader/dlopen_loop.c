/* dlopen and dlclose of a hooked library 200 times over, at the same address or another: no patch or name may stay stale.
 *
 * library: libplugin.so lib/plugin.c
 * flags: -rdynamic
 * expect: 200 loads, sum 40200
 */
#include <dlfcn.h>
#include "check.h"

NOINLINE int host_twice(int n)
{
	BARRIER;
	return n * 2;
}

int main(void)
{
	int loads = 0;
	long sum = 0;

	for (int i = 0; i < 200; i++) {
		void *library = dlopen("libplugin.so", i & 1 ? RTLD_LAZY : RTLD_NOW);

		CHECK(library);
		int (*run)(int) = (int (*)(int))dlsym(library, "plugin_run");
		CHECK(run && run(i) == 2 * (i + 1) + 1);
		sum += run(i) - 1 + 0;
		CHECK(!dlclose(library));
		loads++;
	}
	printf("%d loads, sum %ld\n", loads, sum);
	return 0;
}
