/* File and line of a function. */
#include "cli/ground/source_cells.h"
#include <stdio.h>
#include "query/session/source.h"

void ada_source_fill(struct ada_cell cells[ADA_SOURCE_CELLS], struct ada_module *module, uint64_t function_id, enum ada_format format,
		     char text[ADA_SOURCE_TEXT])
{
	const char *file = "";
	uint32_t line = 0;
	bool known = module && function_id != ADA_NO_FUNCTION && ada_module_source(module, ADA_FUNCTION_SYMBOL(function_id), &file, &line);

	if (known && format == ADA_FORMAT_TEXT)
		snprintf(text, ADA_SOURCE_TEXT, "%s:%u", file, line);
	else
		snprintf(text, ADA_SOURCE_TEXT, "%s", known ? file : "");
	cells[0] = (struct ada_cell){ .text = text, .absent = !known };
	cells[1] = (struct ada_cell){ .number = line, .absent = !known };
}
