/* Printing the rows of a statement. A table buffers its first rows for the widths of its columns; a wider cell in a later row shifts its
 * own line only. Nothing else is kept. */
#include "cli/show/query_print.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/ground/rows.h"

#define AHEAD_BYTES (4u << 20)
#define WIDTH_MAX 48

/* --- names -------------------------------------------------------------------------------------------------------------- */

static bool is_taken(const struct ada_query_printer *printer, const char *name, int before)
{
	for (int i = 0; i < before; i++)
		if (!strcmp(printer->names[i], name))
			return true;
	return false;
}

/* A field of a JSON object needs a name of its own: the second "thread" is "thread:1". */
static char *unique_name(const struct ada_query_printer *printer, const char *name, int number)
{
	size_t size = strlen(name) + 16;
	char *made = malloc(size);

	snprintf(made ? made : (char[1]){ 0 }, made ? size : 1, "%s", name);
	for (int i = 1; made && is_taken(printer, made, number); i++)
		snprintf(made, size, "%s:%d", name, i);
	return made;
}

int ada_query_print_open(struct ada_query_printer *printer, struct ada_output *output, enum ada_format format, sqlite3_stmt *statement)
{
	int count = sqlite3_column_count(statement);

	*printer = (struct ada_query_printer){ .output = output, .format = format };
	printer->names = calloc(count + 1, sizeof *printer->names);
	printer->widths = calloc(count + 1, sizeof *printer->widths);
	printer->right = calloc(count + 1, sizeof *printer->right);
	if (!printer->names || !printer->widths || !printer->right)
		return -ENOMEM;
	for (; printer->column_count < count; printer->column_count++) {
		const char *name = sqlite3_column_name(statement, printer->column_count);

		printer->names[printer->column_count] = name ? unique_name(printer, name, printer->column_count) : NULL;
		if (!printer->names[printer->column_count])
			return -ENOMEM;
	}
	return 0;
}

void ada_query_print_close(struct ada_query_printer *printer)
{
	for (int i = 0; i < printer->column_count; i++)
		free(printer->names[i]);
	for (size_t i = 0; i < printer->ahead.count; i++)
		free(printer->ahead.items[i]);
	ada_array_free(&printer->ahead);
	free(printer->names);
	free(printer->widths);
	free(printer->right);
	*printer = (struct ada_query_printer){};
}

/* --- cells -------------------------------------------------------------------------------------------------------------- */

static void put_hex(struct ada_output *output, sqlite3_stmt *statement, int column)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *bytes = sqlite3_column_blob(statement, column);
	int count = sqlite3_column_bytes(statement, column);

	for (int i = 0; i < count; i++)
		ada_output_bytes(output, (const char[]){ digits[bytes[i] >> 4], digits[bytes[i] & 15] }, 2);
}

static char *hex_text(sqlite3_stmt *statement, int column)
{
	const unsigned char *bytes = sqlite3_column_blob(statement, column);
	int count = sqlite3_column_bytes(statement, column);
	char *text = malloc(2 * (size_t)count + 1);

	if (!text)
		return NULL;
	text[0] = 0;
	for (int i = 0; i < count; i++)
		snprintf(text + 2 * (size_t)i, 3, "%02x", bytes[i]);
	return text;
}

/* The digits in the buffer's end. */
static const char *digits_of(int64_t number, char buffer[24])
{
	uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
	char *at = buffer + 23;

	*at = 0;
	do
		*--at = '0' + rest % 10;
	while (rest /= 10);
	if (number < 0)
		*--at = '-';
	return at;
}

static void put_number(struct ada_query_printer *printer, sqlite3_stmt *statement, int column)
{
	double real = sqlite3_column_double(statement, column);
	const char *text;

	/* JSON has no word for infinity, but its numbers may be that large. */
	if (isinf(real) && printer->format == ADA_FORMAT_JSON)
		text = real > 0 ? "1e999" : "-1e999";
	else
		text = (const char *)sqlite3_column_text(statement, column);
	ada_output_string(printer->output, text ? text : "0"); /* no memory: the next step says so */
}

static void put_cell(struct ada_query_printer *printer, sqlite3_stmt *statement, int column)
{
	bool json = printer->format == ADA_FORMAT_JSON;
	char buffer[24];
	const char *text;

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL: ada_output_string(printer->output, json ? "null" : ""); break;
	case SQLITE_INTEGER: ada_output_string(printer->output, digits_of(sqlite3_column_int64(statement, column), buffer)); break;
	case SQLITE_FLOAT: put_number(printer, statement, column); break;
	case SQLITE_BLOB:
		ada_output_string(printer->output, json ? "\"" : "");
		put_hex(printer->output, statement, column);
		ada_output_string(printer->output, json ? "\"" : "");
		break;
	default:
		text = (const char *)sqlite3_column_text(statement, column);
		ada_output_quoted(printer->output, printer->format, text ? text : "");
		break;
	}
}

/* --- tables ------------------------------------------------------------------------------------------------------------- */

static char *cell_text(sqlite3_stmt *statement, int column)
{
	const char *text;

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL: return strdup("-");
	case SQLITE_BLOB: return hex_text(statement, column);
	}
	text = (const char *)sqlite3_column_text(statement, column);
	return text ? ada_output_prepare(ADA_FORMAT_TEXT, text) : NULL;
}

/* Columns are two spaces apart; no spaces stand at a line's end. */
struct line {
	size_t due;
};

static void put_field(struct ada_query_printer *printer, struct line *line, int column, size_t width, const char *text)
{
	size_t fill = width < printer->widths[column] ? printer->widths[column] - width : 0;

	ada_output_spaces(printer->output, line->due + (printer->right[column] ? fill : 0));
	if (text)
		ada_output_string(printer->output, text);
	line->due = 2 + (printer->right[column] ? 0 : fill);
}

static void put_line(struct ada_query_printer *printer, char *const *texts)
{
	struct line line = {};

	for (int i = 0; i < printer->column_count; i++)
		put_field(printer, &line, i, ada_output_width(texts[i]), texts[i]);
	ada_output_string(printer->output, "\n");
}

/* Puts a row behind those that gave the widths. */
static void put_row(struct ada_query_printer *printer, sqlite3_stmt *statement)
{
	struct line line = {};
	char buffer[24];

	for (int i = 0; i < printer->column_count; i++) {
		const char *text;

		switch (sqlite3_column_type(statement, i)) {
		case SQLITE_NULL: put_field(printer, &line, i, 1, "-"); continue;
		case SQLITE_INTEGER:
			text = digits_of(sqlite3_column_int64(statement, i), buffer);
			put_field(printer, &line, i, buffer + 23 - text, text);
			continue;
		case SQLITE_BLOB:
			put_field(printer, &line, i, 2 * (size_t)sqlite3_column_bytes(statement, i), NULL);
			put_hex(printer->output, statement, i);
			continue;
		}
		text = (const char *)sqlite3_column_text(statement, i);
		put_field(printer, &line, i, text ? ada_output_width(text) : 0, NULL);
		ada_output_text(printer->output, text ? text : "");
	}
	ada_output_string(printer->output, "\n");
}

static void set_widths(struct ada_query_printer *printer)
{
	size_t columns = printer->column_count;

	for (size_t i = 0; i < columns; i++) {
		printer->widths[i] = ada_output_width(printer->names[i]);
		for (size_t cell = i; cell < printer->ahead.count; cell += columns) {
			size_t width = ada_output_width(printer->ahead.items[cell]);

			printer->widths[i] = width > printer->widths[i] ? width : printer->widths[i];
		}
		if (printer->widths[i] > WIDTH_MAX)
			printer->widths[i] = WIDTH_MAX;
	}
}

/* Puts the titles, and the rows that waited for the widths. */
static void put_ahead(struct ada_query_printer *printer)
{
	ADA_ARRAY(char *) titles = {};

	if (printer->begun)
		return;
	printer->begun = true;
	set_widths(printer);
	for (int i = 0; i < printer->column_count; i++)
		if (ada_array_push(&titles, ada_output_prepare(ADA_FORMAT_TEXT, printer->names[i])) || !titles.items[i])
			goto done;
	put_line(printer, titles.items);
	for (size_t cell = 0; cell < printer->ahead.count; cell += printer->column_count)
		put_line(printer, printer->ahead.items + cell);
done:
	for (size_t i = 0; i < titles.count; i++)
		free(titles.items[i]);
	ada_array_free(&titles);
	for (size_t i = 0; i < printer->ahead.count; i++)
		free(printer->ahead.items[i]);
	ada_array_free(&printer->ahead);
}

static int print_text(struct ada_query_printer *printer, sqlite3_stmt *statement)
{
	if (printer->begun) {
		put_row(printer, statement);
		return 0;
	}
	for (int i = 0; i < printer->column_count; i++) {
		int type = sqlite3_column_type(statement, i); /* before the value is asked for as a text */
		char *text = cell_text(statement, i);

		if (!text || ada_array_push(&printer->ahead, text)) {
			free(text);
			return -ENOMEM;
		}
		printer->ahead_bytes += strlen(text);
		if (type != SQLITE_NULL)
			printer->right[i] = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
	}
	if (printer->rows + 1 >= ADA_QUERY_AHEAD || printer->ahead_bytes >= AHEAD_BYTES)
		put_ahead(printer);
	return 0;
}

/* --- rows --------------------------------------------------------------------------------------------------------------- */

static void print_json(struct ada_query_printer *printer, sqlite3_stmt *statement)
{
	ada_output_string(printer->output, printer->rows ? ",\n  {" : "{\"rows\": [\n  {");
	for (int i = 0; i < printer->column_count; i++) {
		ada_output_string(printer->output, i ? ", " : "");
		ada_output_json(printer->output, printer->names[i]);
		ada_output_string(printer->output, ": ");
		put_cell(printer, statement, i);
	}
	ada_output_string(printer->output, "}");
}

static void put_csv_titles(struct ada_query_printer *printer)
{
	for (int i = 0; i < printer->column_count; i++) {
		ada_output_string(printer->output, i ? "," : "");
		ada_output_csv(printer->output, printer->names[i]);
	}
	ada_output_string(printer->output, "\n");
}

static void print_csv(struct ada_query_printer *printer, sqlite3_stmt *statement)
{
	if (!printer->rows)
		put_csv_titles(printer);
	for (int i = 0; i < printer->column_count; i++) {
		ada_output_string(printer->output, i ? "," : "");
		put_cell(printer, statement, i);
	}
	ada_output_string(printer->output, "\n");
}

int ada_query_print_row(struct ada_query_printer *printer, sqlite3_stmt *statement)
{
	int result = 0;

	if (printer->format == ADA_FORMAT_TEXT)
		result = print_text(printer, statement);
	else if (printer->format == ADA_FORMAT_JSON)
		print_json(printer, statement);
	else
		print_csv(printer, statement);
	printer->rows += !result;
	return result;
}

void ada_query_print_end(struct ada_query_printer *printer, const struct ada_completeness *completeness, bool cut)
{
	struct ada_completeness whole = *completeness;

	whole.complete &= !cut;
	switch (printer->format) {
	case ADA_FORMAT_TEXT:
		if (printer->rows)
			put_ahead(printer);
		ada_output_string(printer->output, cut ? "\nEnded early: rows are missing. " : printer->rows ? "\n" : "No row.\n");
		ada_completeness_text(printer->output, completeness);
		break;
	case ADA_FORMAT_JSON:
		ada_output_string(printer->output, printer->rows ? "\n],\n" : "{\"rows\": [],\n");
		ada_completeness_json(printer->output, &whole);
		break;
	case ADA_FORMAT_CSV:
		if (!printer->rows)
			put_csv_titles(printer);
		break;
	}
}
