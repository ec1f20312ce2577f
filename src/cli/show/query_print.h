/* Rows of a statement as they come: a table, CSV, or the JSON object of every answer. */
#ifndef ADA_CLI_QUERY_PRINT_H
#define ADA_CLI_QUERY_PRINT_H
#include <sqlite3.h>
#include "base/array.h"
#include "base/output.h"
#include "query/session/selection.h"

#define ADA_QUERY_AHEAD 1000 /* rows that a table's widths are made for */

struct ada_query_printer {
	struct ada_output *output;
	enum ada_format format;
	int column_count;
	char **names; /* of the columns, each another */
	uint64_t rows;
	bool begun;		 /* something is printed */
	ADA_ARRAY(char *) ahead; /* cells of the first rows of a table */
	size_t ahead_bytes;
	size_t *widths;
	bool *right; /* columns of numbers */
};

/* 0 or -ENOMEM. */
int ada_query_print_open(struct ada_query_printer *printer, struct ada_output *output, enum ada_format format, sqlite3_stmt *statement);
int ada_query_print_row(struct ada_query_printer *printer, sqlite3_stmt *statement);
/* Prints the rest, and the answer's end; `cut`: there would have been more rows. */
void ada_query_print_end(struct ada_query_printer *printer, const struct ada_completeness *completeness, bool cut);
void ada_query_print_close(struct ada_query_printer *printer);
#endif
