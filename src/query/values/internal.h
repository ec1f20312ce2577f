/* Parts of arguments.c: what was captured of a call's memory, and values as text. */
#ifndef ADA_QUERY_ARGUMENTS_INTERNAL_H
#define ADA_QUERY_ARGUMENTS_INTERNAL_H
#include "elf/functions_debug.h"
#include "query/values/arguments.h"

#define ADA_VALUE_BYTES 128 /* the most of a value that is decoded */

/* The value's bytes, as far as they were captured. False: they were not; *address is where they lay, 0: not known. */
bool ada_captured_value(const struct ada_captured *captured, const struct ada_debug_where *where, uint32_t bytes,
			uint8_t value[ADA_VALUE_BYTES], uint64_t *address);

/* Fills all but name and type. 0 or -ENOMEM. */
int ada_argument_format(struct ada_argument *argument, const struct ada_captured *captured, const struct ada_debug_type *type,
			const struct ada_debug_where *where);
#endif
