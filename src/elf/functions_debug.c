/* See functions_debug.h. */
#include "elf/functions_debug.h"

struct ada_debug *ada_debug_open(const char *path, const char *build_id)
{
	return NULL;
}

const struct ada_debug_function *ada_debug_function(struct ada_debug *debug, uint64_t address, const char *mangled)
{
	return NULL;
}

void ada_debug_close(struct ada_debug *debug)
{
}
