/* Opens the library beside itself: the loader looks at who calls dlopen, and takes that module's RUNPATH and $ORIGIN. */
#include <dlfcn.h>
#include <stddef.h>

void *open_neighbour(void)
{
	void *library = dlopen("libneighbour.so", RTLD_NOW);

	__asm__ volatile("" ::: "memory");
	return library;
}
void *open_here(void)
{
	void *library = dlopen("$ORIGIN/libneighbour.so", RTLD_NOW);

	__asm__ volatile("" ::: "memory");
	return library;
}
