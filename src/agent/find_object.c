/* _dl_find_object as unwinders call it (libgcc since 12, with glibc since 2.35), so that they find the unwind tables of our
 * regions, which belong to no module: region.S. For any other address the real one answers.
 *
 * Called from signal handlers and while the loader works: it takes no lock, and is told of the real one beforehand. Unwinders that
 * go by dl_iterate_phdr (LLVM's, older libgcc) don't ask, and still end at a trampoline that a signal interrupted.
 */
#include <dlfcn.h>
#include "agent/core.h"

#pragma weak dlsym

typedef int find_function(void *address, struct dl_find_object *result);

extern char ada_region_frames[] __attribute__((visibility("hidden")));

static find_function *real;

/* An unwinder may be at work before our constructor (an ifunc's resolver). */
ADA_SLOW static find_function *find_real_slow(void)
{
	ada_find_object_start(dlsym ? (uint64_t)dlsym(RTLD_NEXT, "_dl_find_object") : 0);
	return real;
}

void ada_find_object_start(uint64_t address)
{
	__atomic_store_n(&real, (find_function *)address, __ATOMIC_RELAXED);
}

__attribute__((visibility("default"))) int _dl_find_object(void *address, struct dl_find_object *result)
{
	find_function *find = __atomic_load_n(&real, __ATOMIC_RELAXED);
	int status;

	if (!find)
		find = find_real_slow();
	status = find ? find(address, result) : -1;
	if (!status || !find || !ada_region_holds((uint64_t)address))
		return status;
	status = find(ada_region_frames, result);	/* to be of our own module; then as if these were its tables */
	result->dlfo_eh_frame = ada_region_frames;
	return status;
}
