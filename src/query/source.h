/* Where a function of a session is written: file and line, where the module's debug information can be found. */
#ifndef ADA_QUERY_SOURCE_H
#define ADA_QUERY_SOURCE_H
#include "query/session.h"

/* False: not known. *file stays the module's. Opens the debug information when first asked; not for several threads at once. */
bool ada_module_source(struct ada_module *module, uint32_t symbol_index, const char **file, uint32_t *line);
/* The same information for those who want types: NULL where there is none. */
struct ada_debug_function;
const struct ada_debug_function *ada_module_debug(struct ada_module *module, uint32_t symbol_index);
#endif
