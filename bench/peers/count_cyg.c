/* Preloaded into a program built with -finstrument-functions: at its end, how many events it made goes into the file
 * $BENCH_COUNT. What keeps only the newest can't say that itself. */
#include <stdio.h>
#include <stdlib.h>

static unsigned long events;

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
	__atomic_fetch_add(&events, 1, __ATOMIC_RELAXED);
}

void __cyg_profile_func_exit(void *function, void *site)
{
	__atomic_fetch_add(&events, 1, __ATOMIC_RELAXED);
}

__attribute__((destructor)) static void tell(void)
{
	FILE *file = fopen(getenv("BENCH_COUNT"), "w");

	if (file) {
		fprintf(file, "%lu\n", events);
		fclose(file);
	}
}
