/* A library opened at run time throws and catches in its static initialiser: hooks are fresh, the loader's lock is held.
 *
 * library: libthrows.so lib/throws_in_constructor.cc
 * expect: in the library's initialiser
 * expect: ready 1
 */
#include <dlfcn.h>
#include "check.h"

int main()
{
	void *library = dlopen("libthrows.so", RTLD_NOW);
	CHECK(library);
	int (*ready)() = reinterpret_cast<int (*)()>(dlsym(library, "library_ready"));
	CHECK(ready);
	printf("ready %d\n", ready());
	return dlclose(library);
}
