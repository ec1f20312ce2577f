/* What `ada report` says of a function. */
#ifndef ADA_CLI_REPORT_ROWS_H
#define ADA_CLI_REPORT_ROWS_H
#include "cli/ground/rows.h"
#include "query/tally/stats.h"

enum ada_report_field {
	ADA_REPORT_FUNCTION,
	ADA_REPORT_MODULE,
	ADA_REPORT_CALLS,
	ADA_REPORT_TOTAL,
	ADA_REPORT_SELF,
	ADA_REPORT_MIN,
	ADA_REPORT_MEAN,
	ADA_REPORT_P50,
	ADA_REPORT_P90,
	ADA_REPORT_P99,
	ADA_REPORT_MAX,
	ADA_REPORT_FIELDS
};
extern const struct ada_column ada_report_columns[ADA_REPORT_FIELDS];
#define ADA_REPORT_SPARES "min_ns p50_ns p90_ns mean_ns module p99_ns max_ns"

#define ADA_REPORT_CELLS 20
/* A function's row, with room for further cells, and for a name that is made up. */
struct ada_report_row {
	struct ada_cell cells[ADA_REPORT_CELLS];
	const struct ada_function_stats *function;
	char name[ADA_NAME_BUFFER];
};

/* The row must stay where it is: a cell may point into it. */
void ada_report_fill(struct ada_report_row *row, const struct ada_function_stats *function);
/* Fills `rows` (one a function; NULL: there was no memory for them), and *order with pointers to them, for the caller to free: numbers
 * largest first, names by the alphabet. 0 or -ENOMEM. */
int ada_report_order(const struct ada_stats *stats, enum ada_report_field field, struct ada_report_row *rows,
		     struct ada_report_row ***order);
#endif
