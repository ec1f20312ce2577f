/* Help on the tables. */
#include <string.h>
#include "query/sql/sql.h"

static void put_left(struct ada_output *output, const char *text, size_t width)
{
	size_t length = strlen(text);

	ada_output_string(output, text);
	ada_output_spaces(output, length < width ? width - length : 1);
}

void ada_sql_help(struct ada_output *output)
{
	for (int function = 0; function <= 1; function++) {
		ada_output_string(output, function ? "\nTable-valued functions, as in SELECT * FROM fn_stats(at('+1s'), at('+2s')):\n" :
						     "Tables:\n");
		for (size_t i = 0; i < ada_sql_table_count; i++) {
			if (ada_sql_tables[i].function != function)
				continue;
			ada_output_string(output, "  ");
			put_left(output, ada_sql_tables[i].name, 11);
			ada_output_string(output, ada_sql_tables[i].help);
			ada_output_string(output, "\n");
		}
	}
	ada_output_string(output,
			  "\nFunctions: at('+1.5s') a time from the session's start, at('12.5s', 'video') one on a clock of `ada anchor`,\n"
			  "on_clock(timestamp_ns, 'video') ns on that clock, ns('50ms') a duration, hex64(x0), as_double(fp0),\n"
			  "as_float(fp0), and SQLite's own.\n"
			  "`ada query --schema TABLE` lists a table's columns.\n");
}

static void put_columns(struct ada_output *output, const struct ada_sql_table *table, bool hidden)
{
	size_t name = 0, count = 0;

	for (size_t i = 0; i < table->column_count; i++) {
		size_t length = strlen(table->columns[i].name);

		name = length > name ? length : name;
		count += table->columns[i].hidden == hidden;
	}
	if (hidden && count)
		ada_output_string(output,
				  table->function ? "  arguments, and what SELECT * leaves out:\n" : "  what SELECT * leaves out:\n");
	for (size_t i = 0; i < table->column_count; i++) {
		if (table->columns[i].hidden != hidden)
			continue;
		ada_output_string(output, hidden ? "    " : "  ");
		put_left(output, table->columns[i].name, name + 2);
		put_left(output, table->columns[i].type, 9);
		ada_output_string(output, table->columns[i].help);
		ada_output_string(output, "\n");
	}
}

void ada_sql_schema(struct ada_output *output, const struct ada_sql_table *table)
{
	for (size_t i = 0; i < ada_sql_table_count; i++) {
		if (table && table != &ada_sql_tables[i])
			continue;
		ada_output_string(output, i && !table ? "\n" : "");
		ada_output_string(output, ada_sql_tables[i].name);
		ada_output_string(output, ": ");
		ada_output_string(output, ada_sql_tables[i].help);
		ada_output_string(output, "\n");
		put_columns(output, &ada_sql_tables[i], false);
		put_columns(output, &ada_sql_tables[i], true);
	}
}
