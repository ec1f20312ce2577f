/* What other files make for assemble.c: the plan's strings (NUL-terminated, offset 0 is ""), and its imports. */
#ifndef ADA_PLAN_STRINGS_H
#define ADA_PLAN_STRINGS_H
#include "plan/ground/ground.h"

struct ada_strings {
	char *items;
	size_t count, capacity;
};

/* Appends the text; *offset says where it lies. 0, -ENOMEM or -EOVERFLOW. */
int ada_strings_add(struct ada_strings *strings, const char *text, size_t length, uint32_t *offset);
/* The slots of the GOT that this module calls through; *imports is malloc'ed. */
int ada_imports_read(struct ada_planner *planner, struct ada_strings *strings, struct ada_plan_import **imports, uint32_t *count);
#endif
