/* The program has a dl_iterate_phdr of its own that calls the next one, as the sanitizers' run-times do.
 *
 * flags: -rdynamic
 * libs: -ldl
 * expect: ours was called 2 times, and saw the program
 */
#include <dlfcn.h>
#include <link.h>
#include "check.h"

typedef int visit_function(struct dl_phdr_info *info, size_t bytes, void *argument);

static int called;

int dl_iterate_phdr(visit_function *visit, void *argument)
{
	static int (*next)(visit_function *, void *);

	if (!next)
		next = (int (*)(visit_function *, void *))dlsym(RTLD_NEXT, "dl_iterate_phdr");
	called++;
	return next(visit, argument);
}

static int see(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if ((ElfW(Addr)) & called - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
			return 1;
	return 0;
}

int main(void)
{
	int saw = dl_iterate_phdr(see, NULL) && dl_iterate_phdr(see, NULL);

	printf("ours was called %d times, and saw %s\n", called, saw ? "the program" : "nothing");
	return 0;
}
