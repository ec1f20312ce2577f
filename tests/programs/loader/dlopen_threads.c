/* Four threads open, call and close the same libraries at once, while another unloads and loads them again.
 *
 * flags: -rdynamic -pthread
 * library: libplugin.so lib/plugin.c
 * library: libother.so lib/plugin.c
 * expect: 400 rounds
 */
#include <dlfcn.h>
#include <pthread.h>
#include "check.h"

static int rounds;
NOINLINE int host_twice(int n)
{
	BARRIER;
	return n * 2;
}

static void *body(void *name)
{
	for (int i = 0; i < 100; i++) {
		void *library = dlopen(name, RTLD_NOW);

		CHECK(library);
		int (*run)(int) = (int (*)(int))dlsym(library, "plugin_run");
		CHECK(run(i) == 2 * (i + 1) + 1);
		dlclose(library);
		__atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, body, i & 1 ? "libplugin.so" : "libother.so");
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%d rounds\n", rounds);
	return 0;
}
