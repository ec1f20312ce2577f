/* Two recordings' functions side by side. */
#include "cli/sums/report_diff.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/ground/rows.h"
#include "cli/ground/source_cells.h"
#include "cli/sums/compare.h"
#include "cli/sums/muted_cells.h"

/* Of each number three columns: now, before, and the change. */
enum field {
	FUNCTION,
	MODULE,
	STATUS,
	NUMBERS,
	TOTAL_RATIO = NUMBERS + 3 * ADA_SIDE_FIELDS,
	MEAN_RATIO,
	NARROW,
	FIELDS = NARROW + 1 + ADA_SOURCE_CELLS
};

#define SIDE_COLUMNS(side, name, unit, heading, heading_before, heading_change, kind)                                                      \
	[NUMBERS + 3 * (side)] = { name unit, heading, kind }, [NUMBERS + 3 * (side) + 1] = { name "_before" unit, heading_before, kind }, \
		       [NUMBERS + 3 * (side) + 2] = { name "_change" unit, heading_change, ADA_CELL_WRITTEN }

static const struct ada_column columns[NARROW] = {
	[FUNCTION] = { "function", "FUNCTION", ADA_CELL_FUNCTION },
	[MODULE] = { "module", "MODULE", ADA_CELL_NAME },
	[STATUS] = { "status", "STATUS", ADA_CELL_TEXT },
	SIDE_COLUMNS(ADA_SIDE_CALLS, "calls", "", "CALLS", "BEFORE", NULL, ADA_CELL_NUMBER),
	SIDE_COLUMNS(ADA_SIDE_TOTAL, "total", "_ns", "TOTAL", "BEFORE", "CHANGE", ADA_CELL_DURATION),
	SIDE_COLUMNS(ADA_SIDE_SELF, "self", "_ns", "SELF", "BEFORE", NULL, ADA_CELL_DURATION),
	SIDE_COLUMNS(ADA_SIDE_MEAN, "mean", "_ns", "MEAN", "BEFORE", NULL, ADA_CELL_DURATION),
	SIDE_COLUMNS(ADA_SIDE_P50, "p50", "_ns", NULL, NULL, NULL, ADA_CELL_DURATION),
	SIDE_COLUMNS(ADA_SIDE_P99, "p99", "_ns", "P99", "BEFORE", NULL, ADA_CELL_DURATION),
	[TOTAL_RATIO] = { "total_ratio", NULL, ADA_CELL_WRITTEN },
	[MEAN_RATIO] = { "mean_ratio", "MEAN RATIO", ADA_CELL_WRITTEN },
};
/* Behind these, where there is something to say in them. */
static const struct ada_column muted_column = ADA_MUTED_COLUMN;
static const struct ada_column source_columns[ADA_SOURCE_CELLS] = { ADA_SOURCE_COLUMNS };

static const char *const side_names[ADA_SIDE_FIELDS] = { "calls", "total", "self", "mean", "p50", "p99" };

struct number {
	uint64_t value;
	bool known;
};

struct row {
	const struct ada_difference *function;
	unsigned int muted; /* in either of the two */
	struct number numbers[ADA_SIDES][ADA_SIDE_FIELDS];
	const char *module;
	const char *name;
	char buffer[ADA_NAME_BUFFER];
};

/* A function that was not called has no durations, but 0 calls and times. */
static void take_numbers(struct number numbers[ADA_SIDE_FIELDS], const struct ada_function_stats *function)
{
	const struct ada_histogram *durations = function ? &function->durations : NULL;
	bool known = durations && durations->count;

	numbers[ADA_SIDE_CALLS] = (struct number){ function ? function->calls : 0, true };
	numbers[ADA_SIDE_TOTAL] = (struct number){ function ? function->total_ns : 0, true };
	numbers[ADA_SIDE_SELF] = (struct number){ function ? function->self_ns : 0, true };
	if (!known)
		return;
	numbers[ADA_SIDE_MEAN] = (struct number){ durations->sum / durations->count, true };
	numbers[ADA_SIDE_P50] = (struct number){ ada_histogram_percentile(durations, 500), true };
	numbers[ADA_SIDE_P99] = (struct number){ ada_histogram_percentile(durations, 990), true };
}

static bool fill_row(struct row *row, const struct ada_difference *function, const struct ada_pattern_list *patterns)
{
	row->function = function;
	row->muted = (function->now ? function->now->muted : 0) | (function->before ? function->before->muted : 0);
	row->name = ada_module_function(function->module, function->function_id, row->buffer);
	row->module = ada_module_name(function->module);
	if (patterns->items.count && !ada_module_is_meant(function->module, function->function_id, patterns))
		return false;
	take_numbers(row->numbers[ADA_NOW], function->now);
	take_numbers(row->numbers[ADA_BEFORE], function->before);
	return true;
}

/* --- order ------------------------------------------------------------------------------------------------------------ */

static enum ada_report_side side_of(const char *name)
{
	enum ada_report_side side = 0;

	while (side < ADA_SIDE_FIELDS && (strncmp(name, side_names[side], strlen(side_names[side])) ||
					  (name[strlen(side_names[side])] && strcmp(name + strlen(side_names[side]), "_ns"))))
		side++;
	return side;
}

bool ada_report_diff_sorts(const char *field)
{
	return !strcmp(field, "function") || !strcmp(field, "module") || side_of(field) < ADA_SIDE_FIELDS;
}

/* What only one of the two recorded whole is no change. */
static bool is_compared(const struct row *row)
{
	return !(row->muted & ADA_MUTED_CALLS);
}

static bool side_is_compared(const struct row *row, enum ada_report_side side)
{
	return is_compared(row) && !(side == ADA_SIDE_SELF && row->muted & ADA_MUTED_SELF);
}

static uint64_t change_of(const struct row *row, enum ada_report_side side)
{
	uint64_t now = row->numbers[ADA_NOW][side].value, before = row->numbers[ADA_BEFORE][side].value;

	if (!side_is_compared(row, side))
		return 0;
	return now > before ? now - before : before - now;
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct row *a = *(struct row *const *)left, *b = *(struct row *const *)right;
	const char *sort = context;
	enum ada_report_side side = side_of(sort);
	int result = 0;

	if (is_compared(a) != is_compared(b))
		return is_compared(a) ? -1 : 1;
	if (side < ADA_SIDE_FIELDS && change_of(a, side) != change_of(b, side))
		return change_of(a, side) > change_of(b, side) ? -1 : 1;
	if (!strcmp(sort, "module"))
		result = strcmp(a->module, b->module);
	if (!result)
		result = strcmp(a->name, b->name);
	return result ? result : strcmp(a->module, b->module);
}

/* --- rows ------------------------------------------------------------------------------------------------------------- */

struct texts {
	char changes[ADA_SIDE_FIELDS][ADA_COMPARE_TEXT], total[ADA_COMPARE_TEXT], mean[ADA_COMPARE_TEXT];
};

static struct ada_cell number_cell(struct number number)
{
	return (struct ada_cell){ .number = number.value, .absent = !number.known };
}

static struct ada_cell ratio_cell(const struct row *row, enum ada_report_side side, char text[ADA_COMPARE_TEXT])
{
	struct number now = row->numbers[ADA_NOW][side], before = row->numbers[ADA_BEFORE][side];
	const char *ratio = now.known && before.known && is_compared(row) ? ada_compare_ratio(text, now.value, before.value) : NULL;

	return (struct ada_cell){ .text = ratio ? ratio : "", .absent = !ratio };
}

static int put_row(struct ada_rows *table, const struct row *row, const struct ada_report_diff *how)
{
	const struct ada_difference *function = row->function;
	const char *status = !is_compared(row) ? "not compared" : !function->before ? "new" : !function->now ? "gone" : NULL;
	bool text = how->format == ADA_FORMAT_TEXT;
	struct ada_cell cells[FIELDS] = {}, *cell = &cells[NARROW];
	char source[ADA_SOURCE_TEXT];
	struct texts texts;

	cells[FUNCTION].text = row->name;
	cells[MODULE].text = row->module;
	cells[STATUS] = (struct ada_cell){ .text = status ? status : "", .absent = !status && !text };
	for (enum ada_report_side side = 0; side < ADA_SIDE_FIELDS; side++) {
		struct number now = row->numbers[ADA_NOW][side], before = row->numbers[ADA_BEFORE][side];

		cells[NUMBERS + 3 * side] = number_cell(now);
		cells[NUMBERS + 3 * side + 1] = number_cell(before);
		cells[NUMBERS + 3 * side + 2] = (struct ada_cell){
			.text = ada_compare_change(texts.changes[side], how->format, side != ADA_SIDE_CALLS, now.value, before.value),
			.absent = !now.known || !before.known || !side_is_compared(row, side),
		};
	}
	cells[TOTAL_RATIO] = ratio_cell(row, ADA_SIDE_TOTAL, texts.total);
	cells[MEAN_RATIO] = ratio_cell(row, ADA_SIDE_MEAN, texts.mean);
	if (how->muted)
		*cell++ = ada_muted_cell(row->muted, how->format);
	if (how->source)
		ada_source_fill(cell, function->module, function->function_id, how->format, source);
	return ada_rows_add(table, cells);
}

static size_t choose_columns(struct ada_column chosen[FIELDS], const struct ada_report_diff *how)
{
	size_t count = NARROW;

	memcpy(chosen, columns, sizeof columns);
	if (how->muted)
		chosen[count++] = muted_column;
	for (size_t i = 0; i < ADA_SOURCE_CELLS && how->source; i++)
		chosen[count++] = source_columns[i];
	return count;
}

/* Of each sort so many as the limit allows. */
static int put_rows(struct row *const *rows, size_t count, const struct ada_report_diff *how, struct ada_output *output)
{
	struct ada_column chosen[FIELDS];
	uint64_t put[2] = { 0 };
	struct ada_rows table;
	int result = 0;

	ada_rows_open(&table, output, how->format, "rows", chosen, choose_columns(chosen, how));
	table.full_names = how->full_names;
	table.spares = "self_before_ns self_ns p99_before_ns p99_ns mean_before_ns mean_ns module calls_before mean_ratio calls";
	for (size_t i = 0; i < count && !result; i++)
		if (put[is_compared(rows[i])]++ < how->limit)
			result = put_row(&table, rows[i], how);
	ada_rows_close(&table);
	if (count && how->format == ADA_FORMAT_TEXT)
		ada_output_string(output, "\n");
	if (how->muted && how->format == ADA_FORMAT_TEXT)
		ada_output_string(output, ADA_MUTED_LEGEND);
	return result;
}

int ada_report_diff_put(const struct ada_report_diff *how, const struct ada_diff *diff, struct ada_output *output)
{
	struct row *rows = calloc(diff->functions.count + 1, sizeof *rows);
	struct row **order = calloc(diff->functions.count + 1, sizeof *order);
	size_t count = 0;
	int result = -ENOMEM;

	if (!rows || !order)
		goto done;
	for (size_t i = 0; i < diff->functions.count; i++)
		if (fill_row(&rows[count], &diff->functions.items[i], how->functions)) {
			order[count] = &rows[count];
			count++;
		}
	qsort_r(order, count, sizeof *order, compare_rows, (void *)how->sort);
	result = put_rows(order, count, how, output);
done:
	free(rows);
	free(order);
	return result;
}
