/* Rows of an answer: an aligned table, CSV with a header, or an array in the JSON object of every answer,
 * {"rows": [...], "completeness": {...}}. */
#ifndef ADA_CLI_ROWS_H
#define ADA_CLI_ROWS_H
#include "base/array.h"
#include "base/output.h"
#include "query/session/selection.h"

enum ada_cell_kind {
	ADA_CELL_TEXT,
	ADA_CELL_NAME,	   /* text that may be long: in a text table behind the other columns */
	ADA_CELL_FUNCTION, /* a function's name: likewise, and short (ada_name_short) where it is long, unless `full_names` */
	ADA_CELL_NUMBER,   /* as it is in every format */
	ADA_CELL_WRITTEN,  /* a number that is written in `text`: signed, or with decimals */
	ADA_CELL_COUNT,	   /* in text "12.3 M" */
	ADA_CELL_DURATION, /* ns; in text "1.23 ms" */
	ADA_CELL_BOOL,
};

struct ada_column {
	const char *name;  /* of the JSON field and in the CSV header */
	const char *title; /* of the text column; NULL: not shown in text */
	enum ada_cell_kind kind;
};

struct ada_cell {
	const char *text;
	uint64_t number;
	bool absent; /* null, an empty field, "-" */
};

struct ada_rows {
	struct ada_output *output;
	enum ada_format format;
	const struct ada_column *columns;
	size_t column_count, row_count;
	bool full_names; /* set behind ada_rows_open, as are the next two */
	/* Names of the columns that are left out where the terminal is too narrow for the table, the first one first. */
	const char *spares;
	const char *kept;	 /* but not this one, by which the rows are sorted */
	ADA_ARRAY(char *) texts; /* of the text table, which needs all rows for its widths */
};

/* Begins a table; in JSON the array `name`, as the first thing in the object or behind another. */
void ada_rows_open(struct ada_rows *rows, struct ada_output *output, enum ada_format format, const char *name,
		   const struct ada_column *columns, size_t column_count);
int ada_rows_add(struct ada_rows *rows, const struct ada_cell *cells); /* one a column; 0 or -ENOMEM */
void ada_rows_close(struct ada_rows *rows);			       /* prints the table, or ends the JSON array */

/* "completeness": {"events": ..., "lost": ..., "aged": ..., "detailCoverage": ..., "complete": ...}} and a newline: the answer's end. Where functions
 * were muted also "muted": {"functions": ..., "filtered": ..., "callsShare": ...}. */
void ada_completeness_json(struct ada_output *output, const struct ada_completeness *completeness);
void ada_completeness_object(struct ada_output *output, const struct ada_completeness *completeness); /* {...} alone */
/* "; 3 functions were muted (about 95 % of the calls)", or nothing. Returns text. */
#define ADA_MUTED_TEXT 128
char *ada_completeness_muted(char text[ADA_MUTED_TEXT], const struct ada_completeness *completeness);
/* A sentence on whether something is missing, for the end of a text answer. */
void ada_completeness_text(struct ada_output *output, const struct ada_completeness *completeness);
#endif
