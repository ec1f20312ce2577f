/* Parts of arguments.c: what was captured of a call's memory, and values as text. */
#ifndef ADA_QUERY_ARGUMENTS_INTERNAL_H
#define ADA_QUERY_ARGUMENTS_INTERNAL_H
#include "elf/functions_debug.h"
#include "query/values/arguments.h"

#define ADA_VALUE_BYTES 128 /* the most of a value that is decoded */

struct ada_captured {
	const struct ada_process *process;
	const struct atf_detail *record;
	bool is_return;
};

/* Bytes known to have been at `address`: of the captured stack, or constants of a module. NULL: none. */
const uint8_t *ada_captured_at(const struct ada_captured *captured, uint64_t address, uint64_t *bytes);
/* The value's bytes, as far as they were captured. False: they were not; *address is where they lay, 0: not known. */
bool ada_captured_value(const struct ada_captured *captured, const struct ada_debug_where *where, uint32_t bytes,
			uint8_t value[ADA_VALUE_BYTES], uint64_t *address);

/* Fills all but name and type. 0 or -ENOMEM. */
int ada_argument_format(struct ada_argument *argument, const struct ada_captured *captured, const struct ada_debug_type *type,
			const struct ada_debug_where *where);
#endif
