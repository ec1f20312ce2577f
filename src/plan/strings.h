/* The plan's strings: NUL-terminated, offset 0 is "". */
#ifndef ADA_PLAN_STRINGS_H
#define ADA_PLAN_STRINGS_H
#include <stddef.h>
#include <stdint.h>

struct ada_strings {
	char *items;
	size_t count, capacity;
};

/* Appends; *offset is where. 0, -ENOMEM or -EOVERFLOW. */
int ada_strings_add(struct ada_strings *strings, const char *text, size_t length, uint32_t *offset);
#endif
