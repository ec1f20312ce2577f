/* dlopen uses its caller's RUNPATH: the library next to a library in a directory that the program does not know.
 *
 * library: libneighbour.so lib/neighbour.c
 * library: libopener.so lib/opens_by_origin.c
 * libs: -lopener
 * expect: by name 12, by $ORIGIN 12, from the program 12
 */
#include <dlfcn.h>
#include "check.h"

void *open_neighbour(void);
void *open_here(void);

NOINLINE static int call(void *library)
{
	CHECK(library);
	int (*function)(void) = (int (*)(void))dlsym(library, "neighbour");
	CHECK(function);
	int value = function();
	dlclose(library);
	return value;
}

int main(void)
{
	int first = call(open_neighbour()), second = call(open_here());

	printf("by name %d, by $ORIGIN %d, from the program %d\n", first, second, call(dlopen("$ORIGIN/libneighbour.so", RTLD_LAZY)));
	return 0;
}
