#ifndef ADA_QUERY_ROWS_TABLE_H
#define ADA_QUERY_ROWS_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A table's columns, as the help and the exports name them. */
struct ada_sql_column {
	const char *name, *type, *help;
	bool hidden;
	uint8_t role; /* rows.h */
};
struct ada_sql_table {
	const char *name, *help;
	const struct ada_sql_column *columns;
	size_t column_count;
	bool function;
};
#endif
