/* --source: where a function is written, as the last two columns of a table. In text these are one column, file:line. */
#ifndef ADA_CLI_SOURCE_CELLS_H
#define ADA_CLI_SOURCE_CELLS_H
#include "cli/ground/rows.h"
#include "query/calls/calls.h"

#define ADA_SOURCE_CELLS 2
#define ADA_SOURCE_COLUMNS                                                                                                                 \
	{ "file", "SOURCE", ADA_CELL_NAME },                                                                                               \
	{                                                                                                                                  \
		"line", NULL, ADA_CELL_NUMBER                                                                                              \
	}
#define ADA_SOURCE_TEXT 4352

/* Cells may point into `text`. */
void ada_source_fill(struct ada_cell cells[ADA_SOURCE_CELLS], struct ada_module *module, uint64_t function_id, enum ada_format format,
		     char text[ADA_SOURCE_TEXT]);
#endif
