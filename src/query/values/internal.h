/* Parts of arguments.c: what was captured of a call's memory, and values as text. */
#ifndef ADA_QUERY_ARGUMENTS_INTERNAL_H
#define ADA_QUERY_ARGUMENTS_INTERNAL_H
#include <stdio.h>
#include "elf/debug/functions.h"
#include "query/values/arguments.h"

#define ADA_VALUE_BYTES 128 /* the most of a value that is decoded */

/* The value's bytes, as far as they were captured. False: they were not; *address is where they lay, 0: not known. */
bool ada_captured_value(const struct ada_captured *captured, const struct ada_debug_where *where, uint32_t bytes,
			uint8_t value[ADA_VALUE_BYTES], uint64_t *address);

/* Fills all but name and type. 0 or -ENOMEM. */
int ada_argument_format(struct ada_argument *argument, const struct ada_captured *captured, const struct ada_debug_type *type,
			const struct ada_debug_where *where);

/* --- text.c: each writes a value, and fills in what the argument says of it ---------------------------------------------- */

void ada_value_put_code_point(FILE *file, uint32_t code);
/* The bytes become the argument's string. */
void ada_value_put_string(FILE *file, struct ada_argument *argument, const char *bytes, size_t length, bool cut);
void ada_value_put_address(FILE *file, struct ada_argument *argument, uint64_t address);
void ada_value_put_not_captured(FILE *file, struct ada_argument *argument, uint64_t address);
void ada_value_put_c_string(FILE *file, struct ada_argument *argument, const struct ada_captured *captured, uint64_t address);
/* The value stays the pointer. */
void ada_value_put_socket_address(FILE *file, struct ada_argument *argument, const struct ada_captured *captured, uint64_t address);
void ada_value_put_slice(FILE *file, struct ada_argument *argument, const struct ada_captured *captured, const struct ada_debug_type *type,
			 const uint8_t *value);
/* libstdc++'s: pointer, length, and 16 bytes that the pointer leads to where the text is short. */
void ada_value_put_std_string(FILE *file, struct ada_argument *argument, const struct ada_captured *captured, uint64_t address);
#endif
