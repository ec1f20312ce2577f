/* See source.h. */
#include "query/source.h"

bool ada_module_source(struct ada_module *module, uint32_t symbol_index, const char **file, uint32_t *line)
{
	return false;
}

const struct ada_debug_function *ada_module_debug(struct ada_module *module, uint32_t symbol_index)
{
	return NULL;
}
