/* A second namespace has its own libc: the agent there is not, and the functions called across work.
 *
 * library: libneighbour.so lib/neighbour.c
 * expect: 12, 3
 */
#include <dlfcn.h>
#include "check.h"

int main(void)
{
	void *library = dlmopen(LM_ID_NEWLM, "libneighbour.so", RTLD_NOW);
	void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);

	CHECK(library && libc);
	int (*neighbour)(void) = (int (*)(void))dlsym(library, "neighbour");
	int (*absolute)(int) = (int (*)(int))dlsym(libc, "abs");
	printf("%d, %d\n", neighbour(), absolute(-3));
	dlclose(library);
	dlclose(libc);
	return 0;
}
