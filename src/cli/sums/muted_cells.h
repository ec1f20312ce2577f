/* What a table of functions says of those that `ada trace --budget` left out for some of the time. */
#ifndef ADA_CLI_MUTED_CELLS_H
#define ADA_CLI_MUTED_CELLS_H
#include "cli/ground/rows.h"
#include "query/sums/muted.h"

#define ADA_MUTED_COLUMN                                                                                                                   \
	{                                                                                                                                  \
		"muted", "MUTED", ADA_CELL_TEXT                                                                                            \
	}
/* Below a table in text. */
#define ADA_MUTED_LEGEND                                                                                                                   \
	"MUTED by --budget for some of the time: calls: of the function's own some are missing; uncontended: of a mutex's those that had " \
	"nobody to wait for; self: SELF may hold the time of those that it called.\n"

static inline struct ada_cell ada_muted_cell(unsigned int muted, enum ada_format format)
{
	const char *text = ada_muted_text(muted);

	return (struct ada_cell){ .text = text ? text : "", .absent = !text && format != ADA_FORMAT_TEXT };
}
#endif
