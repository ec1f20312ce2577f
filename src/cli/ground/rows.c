/* Printing rows in the three formats. */
#include "cli/ground/rows.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/units.h"
#include "elf/file/spoken.h"

#define FUNCTION_WIDTH_MAX 96 /* bytes: a longer name is said as narratives say it */
#define NAME_WIDTH_MAX 48     /* a longer name shifts only the rest of its own line */
#define NAME_WIDTH_WEIGHED 32 /* and for one that is longer than this no column goes */
#define COLUMNS_MAX 32

/* A text table as it is printed. */
struct table {
	size_t widths[COLUMNS_MAX];
	bool shown[COLUMNS_MAX], says[COLUMNS_MAX]; /* has a cell that isn't "-" */
	bool left_out;				    /* a column that says something */
};

static bool is_name(enum ada_cell_kind kind)
{
	return kind == ADA_CELL_NAME || kind == ADA_CELL_FUNCTION;
}

static bool is_text(enum ada_cell_kind kind)
{
	return kind == ADA_CELL_TEXT || is_name(kind);
}

static void put_number(struct ada_output *output, enum ada_cell_kind kind, uint64_t number)
{
	if (kind == ADA_CELL_BOOL)
		ada_output_string(output, number ? "true" : "false");
	else
		ada_output_u64(output, number);
}

static void put_header(struct ada_rows *rows, const char *name)
{
	if (rows->format == ADA_FORMAT_JSON) {
		ada_output_json(rows->output, name);
		ada_output_string(rows->output, ": [");
	}
	for (size_t i = 0; rows->format == ADA_FORMAT_CSV && i < rows->column_count; i++) {
		ada_output_string(rows->output, i ? "," : "");
		ada_output_string(rows->output, rows->columns[i].name);
	}
	if (rows->format == ADA_FORMAT_CSV)
		ada_output_string(rows->output, "\n");
}

void ada_rows_open(struct ada_rows *rows, struct ada_output *output, enum ada_format format, const char *name,
		   const struct ada_column *columns, size_t column_count)
{
	*rows = (struct ada_rows){ .output = output, .format = format, .columns = columns, .column_count = column_count };
	put_header(rows, name);
}

static void add_json(struct ada_rows *rows, const struct ada_cell *cells)
{
	ada_output_string(rows->output, rows->row_count ? ",\n  {" : "\n  {");
	for (size_t i = 0; i < rows->column_count; i++) {
		ada_output_string(rows->output, i ? ", \"" : "\"");
		ada_output_string(rows->output, rows->columns[i].name);
		ada_output_string(rows->output, "\": ");
		if (cells[i].absent)
			ada_output_string(rows->output, "null");
		else if (is_text(rows->columns[i].kind))
			ada_output_json(rows->output, cells[i].text);
		else if (rows->columns[i].kind == ADA_CELL_WRITTEN)
			ada_output_string(rows->output, cells[i].text);
		else
			put_number(rows->output, rows->columns[i].kind, cells[i].number);
	}
	ada_output_string(rows->output, "}");
}

static void add_csv(struct ada_rows *rows, const struct ada_cell *cells)
{
	for (size_t i = 0; i < rows->column_count; i++) {
		ada_output_string(rows->output, i ? "," : "");
		if (cells[i].absent)
			continue;
		if (is_text(rows->columns[i].kind))
			ada_output_csv(rows->output, cells[i].text);
		else if (rows->columns[i].kind == ADA_CELL_WRITTEN)
			ada_output_string(rows->output, cells[i].text);
		else
			put_number(rows->output, rows->columns[i].kind, cells[i].number);
	}
	ada_output_string(rows->output, "\n");
}

/* Names of templates may have thousands of characters. */
static char *function_text(const char *name)
{
	char brief[ADA_NAME_BUFFER];

	return ada_output_prepare(ADA_FORMAT_TEXT, strlen(name) > FUNCTION_WIDTH_MAX ? ada_name_short(name, brief) : name);
}

static char *cell_text(const struct ada_rows *rows, enum ada_cell_kind kind, const struct ada_cell *cell)
{
	char text[ADA_UNITS_TEXT];

	if (cell->absent)
		return strdup("-");
	if (kind == ADA_CELL_FUNCTION && !rows->full_names)
		return function_text(cell->text);
	switch (kind) {
	case ADA_CELL_TEXT:
	case ADA_CELL_FUNCTION:
	case ADA_CELL_NAME:
	case ADA_CELL_WRITTEN: return ada_output_prepare(ADA_FORMAT_TEXT, cell->text);
	case ADA_CELL_COUNT: return strdup(ada_format_count(cell->number, text));
	case ADA_CELL_DURATION: return strdup(ada_format_duration(cell->number, text));
	case ADA_CELL_BOOL: return strdup(cell->number ? "yes" : "no");
	case ADA_CELL_NUMBER: break;
	}
	snprintf(text, sizeof text, "%llu", (unsigned long long)cell->number);
	return strdup(text);
}

static int add_text(struct ada_rows *rows, const struct ada_cell *cells)
{
	for (size_t i = 0; i < rows->column_count; i++) {
		char *text = cell_text(rows, rows->columns[i].kind, &cells[i]);

		if (!text || ada_array_push(&rows->texts, text)) {
			free(text);
			return -ENOMEM;
		}
	}
	return 0;
}

int ada_rows_add(struct ada_rows *rows, const struct ada_cell *cells)
{
	int result = 0;

	if (rows->format == ADA_FORMAT_JSON)
		add_json(rows, cells);
	else if (rows->format == ADA_FORMAT_CSV)
		add_csv(rows, cells);
	else
		result = add_text(rows, cells);
	rows->row_count += !result;
	return result;
}

/* One line of the table: NULL `texts` for the titles. Numbers to the right, names to the left. */
static void put_line(struct ada_rows *rows, char *const *texts, const struct table *table)
{
	size_t due = 0; /* spaces before what comes next: none at a line's end */

	for (int last = 0; last <= 1; last++)
		for (size_t i = 0; i < rows->column_count; i++) {
			const struct ada_column *column = &rows->columns[i];
			const char *text = texts ? texts[i] : column->title;
			size_t fill;

			if (!table->shown[i] || is_name(column->kind) != last)
				continue;
			fill = ada_output_width(text);
			fill = fill < table->widths[i] ? table->widths[i] - fill : 0;
			ada_output_spaces(rows->output, due + (is_text(column->kind) ? 0 : fill));
			ada_output_string(rows->output, text);
			due = 2 + (is_text(column->kind) ? fill : 0);
		}
	ada_output_string(rows->output, "\n");
}

static void measure_columns(const struct ada_rows *rows, struct table *table)
{
	for (size_t i = 0; i < rows->column_count; i++) {
		table->shown[i] = rows->columns[i].title;
		table->widths[i] = table->shown[i] ? ada_output_width(rows->columns[i].title) : 0;
		for (size_t row = 0; row < rows->row_count; row++) {
			const char *text = rows->texts.items[row * rows->column_count + i];
			size_t width = ada_output_width(text);

			table->widths[i] = width > table->widths[i] ? width : table->widths[i];
			table->says[i] |= strcmp(text, "-") != 0;
		}
		if (is_name(rows->columns[i].kind) && table->widths[i] > NAME_WIDTH_MAX)
			table->widths[i] = NAME_WIDTH_MAX;
	}
}

static size_t table_width(const struct ada_rows *rows, const struct table *table)
{
	size_t width = 0;

	for (size_t i = 0; i < rows->column_count; i++) {
		bool wide = is_name(rows->columns[i].kind) && table->widths[i] > NAME_WIDTH_WEIGHED;

		if (table->shown[i])
			width += (width ? 2 : 0) + (wide ? NAME_WIDTH_WEIGHED : table->widths[i]);
	}
	return width;
}

/* Whether the next one of rows->spares, at `name`, can go: the column, COLUMNS_MAX: it can't. */
static size_t spare_column(const struct ada_rows *rows, const struct table *table, const char *name)
{
	size_t length = strcspn(name, " ");

	for (size_t i = 0; i < rows->column_count; i++)
		if (table->shown[i] && !strncmp(rows->columns[i].name, name, length) && !rows->columns[i].name[length])
			return rows->kept && !strcmp(rows->columns[i].name, rows->kept) ? COLUMNS_MAX : i;
	return COLUMNS_MAX;
}

/* Which column goes next: one that says nothing before the others. COLUMNS_MAX: none can. */
static size_t next_spare(const struct ada_rows *rows, const struct table *table)
{
	size_t found = COLUMNS_MAX;

	for (const char *name = rows->spares ?: ""; *name; name += strspn(name, " ")) {
		size_t column = spare_column(rows, table, name);

		name += strcspn(name, " ");
		if (column == COLUMNS_MAX)
			continue;
		if (!table->says[column])
			return column;
		found = found == COLUMNS_MAX ? column : found;
	}
	return found;
}

/* To what reads the answer from a file or a pipe all columns are told. */
static void fit_terminal(const struct ada_rows *rows, struct table *table, unsigned int columns)
{
	while (columns && table_width(rows, table) > columns) {
		size_t spare = next_spare(rows, table);

		if (spare == COLUMNS_MAX)
			return;
		table->shown[spare] = false;
		table->left_out |= table->says[spare];
	}
}

/* Not on a screen, which says it in its help. */
static void put_left_out(struct ada_rows *rows, const struct table *table, unsigned int columns)
{
	const char *between = "";

	if (!table->left_out || rows->output->fd != STDOUT_FILENO)
		return;
	ada_output_format(rows->output, "No room in %u columns for ", columns);
	for (size_t i = 0; i < rows->column_count; i++)
		if (rows->columns[i].title && !table->shown[i] && table->says[i]) {
			ada_output_format(rows->output, "%s%s", between, rows->columns[i].title);
			between = ", ";
		}
	ada_output_string(rows->output, ": `| cat` shows all.\n");
}

static void put_table(struct ada_rows *rows)
{
	unsigned int columns = ada_output_columns();
	struct table table = {};

	measure_columns(rows, &table);
	fit_terminal(rows, &table, columns);
	put_line(rows, NULL, &table);
	for (size_t row = 0; row < rows->row_count; row++)
		put_line(rows, rows->texts.items + row * rows->column_count, &table);
	put_left_out(rows, &table, columns);
}

void ada_rows_close(struct ada_rows *rows)
{
	if (rows->format == ADA_FORMAT_JSON)
		ada_output_string(rows->output, rows->row_count ? "\n],\n" : "],\n");
	else if (rows->format == ADA_FORMAT_TEXT && rows->row_count)
		put_table(rows);
	for (size_t i = 0; i < rows->texts.count; i++)
		free(rows->texts.items[i]);
	ada_array_free(&rows->texts);
}

void ada_completeness_object(struct ada_output *output, const struct ada_completeness *completeness)
{
	char coverage[32];

	snprintf(coverage, sizeof coverage, "%.6g", completeness->detail_coverage);
	ada_output_string(output, "{\"events\": ");
	ada_output_u64(output, completeness->events);
	ada_output_string(output, ", \"lost\": ");
	ada_output_u64(output, completeness->lost);
	if (completeness->overwritten) {
		ada_output_string(output, ", \"overwritten\": ");
		ada_output_u64(output, completeness->overwritten);
	}
	if (completeness->aged) {
		ada_output_string(output, ", \"aged\": ");
		ada_output_u64(output, completeness->aged);
	}
	ada_output_string(output, ", \"detailCoverage\": ");
	ada_output_string(output, coverage);
	if (completeness->muted) {
		char muted[96];

		snprintf(muted, sizeof muted, ", \"muted\": {\"functions\": %" PRIu64 ", \"filtered\": %" PRIu64 ", \"callsShare\": %.6g}",
			 completeness->muted, completeness->filtered, completeness->muted_share);
		ada_output_string(output, muted);
	}
	ada_output_string(output, ", \"complete\": ");
	ada_output_string(output, completeness->complete ? "true}" : "false}");
}

void ada_completeness_json(struct ada_output *output, const struct ada_completeness *completeness)
{
	ada_output_string(output, "\"completeness\": ");
	ada_completeness_object(output, completeness);
	ada_output_string(output, "}\n");
}

char *ada_completeness_muted(char text[ADA_MUTED_TEXT], const struct ada_completeness *completeness)
{
	char filtered[64] = "";

	if (completeness->filtered)
		snprintf(filtered, sizeof filtered, "; of %" PRIu64 " only uncontended ones", completeness->filtered);
	*text = 0;
	if (completeness->muted)
		snprintf(text, ADA_MUTED_TEXT, "; %" PRIu64 " function%s muted (about %.3g %% of the calls%s)", completeness->muted,
			 completeness->muted == 1 ? " was" : "s were", 100 * completeness->muted_share, filtered);
	return text;
}

void ada_completeness_text(struct ada_output *output, const struct ada_completeness *completeness)
{
	uint64_t lost = ada_completeness_lost(completeness);
	char coverage[32], muted[ADA_MUTED_TEXT];

	ada_output_u64(output, completeness->events);
	ada_output_string(output, completeness->events == 1 ? " event; " : " events; ");
	if (completeness->overwritten) {
		ada_output_u64(output, completeness->overwritten);
		ada_output_string(output, completeness->overwritten == 1 ? " older one was overwritten, as asked; " :
									   " older ones were overwritten, as asked; ");
	}
	if (lost) {
		ada_output_u64(output, lost);
		ada_output_string(output, lost == 1 ? " was lost" : " were lost");
	} else if (completeness->overwritten) {
		ada_output_string(output, "none was lost");
	} else if (completeness->complete || completeness->aged) {
		ada_output_string(output, "none was lost");
	} else {
		ada_output_string(output, "no loss is recorded, but the recording is not complete (`ada info` says why)");
	}
	if (completeness->aged) {
		ada_output_string(output, "; ");
		ada_output_u64(output, completeness->aged);
		ada_output_string(output, " older ones have gone into totals, which only sums by function know");
	}
	if (completeness->detail_coverage > 0) {
		snprintf(coverage, sizeof coverage, "; %.3g %% have detail", 100 * completeness->detail_coverage);
		ada_output_string(output, coverage);
	}
	ada_output_string(output, ada_completeness_muted(muted, completeness));
	ada_output_string(output, ".\n");
}
