/* Tables whose rows are made at once: they are as few as windows, threads or functions. */
#include <stdlib.h>
#include <string.h>
#include "base/output.h"
#include "query/rows/rows.h"

static void cell_add(struct ada_sql_rows *rows, struct ada_sql_cell cell)
{
	if (!ada_array_push(&rows->cells, cell))
		return;
	free(cell.text);
	rows->failed = true;
}

void ada_sql_add_null(struct ada_sql_rows *rows)
{
	cell_add(rows, (struct ada_sql_cell){ .type = SQLITE_NULL });
}

void ada_sql_add_integer(struct ada_sql_rows *rows, uint64_t number)
{
	cell_add(rows, (struct ada_sql_cell){ .type = SQLITE_INTEGER, .integer = number > INT64_MAX ? INT64_MAX : (int64_t)number });
}

void ada_sql_add_real(struct ada_sql_rows *rows, double number)
{
	cell_add(rows, (struct ada_sql_cell){ .type = SQLITE_FLOAT, .real = number });
}

void ada_sql_add_text(struct ada_sql_rows *rows, const char *text)
{
	char *copy = text ? ada_output_utf8_copy(text) : NULL;

	rows->failed |= text && !copy;
	cell_add(rows, (struct ada_sql_cell){ .type = text ? SQLITE_TEXT : SQLITE_NULL, .text = copy });
}

static size_t row_count(const struct ada_sql_rows *rows)
{
	return rows->column_count ? rows->cells.count / rows->column_count : 0;
}

void ada_sql_rows_free(struct ada_sql_rows *rows)
{
	for (size_t i = 0; i < rows->cells.count; i++)
		free(rows->cells.items[i].text);
	ada_array_free(&rows->cells);
	rows->failed = false;
}

int ada_sql_rows_first(struct ada_sql_rows_cursor *cursor)
{
	cursor->row = 0;
	cursor->cursor.eof = !row_count(&cursor->rows);
	return cursor->rows.failed ? SQLITE_NOMEM : SQLITE_OK;
}

int ada_sql_rows_next(struct ada_sql_cursor *base)
{
	struct ada_sql_rows_cursor *cursor = (struct ada_sql_rows_cursor *)base;

	base->eof = ++cursor->row >= row_count(&cursor->rows);
	return SQLITE_OK;
}

void ada_sql_rows_column(struct ada_sql_cursor *base, sqlite3_context *context, int column)
{
	const struct ada_sql_rows_cursor *cursor = (struct ada_sql_rows_cursor *)base;
	const struct ada_sql_cell *cell = &cursor->rows.cells.items[cursor->row * cursor->rows.column_count + column];

	switch (cell->type) {
	case SQLITE_INTEGER: sqlite3_result_int64(context, cell->integer); break;
	case SQLITE_FLOAT: sqlite3_result_double(context, cell->real); break;
	case SQLITE_TEXT: sqlite3_result_text(context, cell->text, -1, SQLITE_TRANSIENT); break;
	}
}

int64_t ada_sql_rows_rowid(struct ada_sql_cursor *base)
{
	return (int64_t)((struct ada_sql_rows_cursor *)base)->row + 1;
}

void ada_sql_rows_reset(struct ada_sql_cursor *base)
{
	ada_sql_rows_free(&((struct ada_sql_rows_cursor *)base)->rows);
}

double ada_sql_few(const struct ada_sql *sql)
{
	return 100;
}
