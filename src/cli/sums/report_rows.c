#include "cli/sums/report_rows.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct ada_column ada_report_columns[ADA_REPORT_FIELDS] = {
	[ADA_REPORT_FUNCTION] = { "function", "FUNCTION", ADA_CELL_FUNCTION },
	[ADA_REPORT_MODULE] = { "module", "MODULE", ADA_CELL_NAME },
	[ADA_REPORT_CALLS] = { "calls", "CALLS", ADA_CELL_NUMBER },
	[ADA_REPORT_TOTAL] = { "total_ns", "TOTAL", ADA_CELL_DURATION },
	[ADA_REPORT_SELF] = { "self_ns", "SELF", ADA_CELL_DURATION },
	[ADA_REPORT_MIN] = { "min_ns", "MIN", ADA_CELL_DURATION },
	[ADA_REPORT_MEAN] = { "mean_ns", "MEAN", ADA_CELL_DURATION },
	[ADA_REPORT_P50] = { "p50_ns", "P50", ADA_CELL_DURATION },
	[ADA_REPORT_P90] = { "p90_ns", "P90", ADA_CELL_DURATION },
	[ADA_REPORT_P99] = { "p99_ns", "P99", ADA_CELL_DURATION },
	[ADA_REPORT_MAX] = { "max_ns", "MAX", ADA_CELL_DURATION },
};

void ada_report_fill(struct ada_report_row *row, const struct ada_function_stats *function)
{
	const struct ada_histogram *durations = &function->durations;
	struct ada_cell *cells = row->cells;

	*row = (struct ada_report_row){ .function = function };
	cells[ADA_REPORT_FUNCTION].text = ada_module_function(function->module, function->function_id, row->name);
	cells[ADA_REPORT_MODULE].text = ada_module_name(function->module);
	cells[ADA_REPORT_CALLS].number = function->calls;
	cells[ADA_REPORT_TOTAL].number = function->total_ns;
	cells[ADA_REPORT_SELF].number = function->self_ns;
	for (enum ada_report_field field = ADA_REPORT_MIN; field < ADA_REPORT_FIELDS; field++)
		cells[field].absent = !durations->count;
	if (!durations->count)
		return;
	cells[ADA_REPORT_MIN].number = durations->min;
	cells[ADA_REPORT_MEAN].number = durations->sum / durations->count;
	cells[ADA_REPORT_P50].number = ada_histogram_percentile(durations, 500);
	cells[ADA_REPORT_P90].number = ada_histogram_percentile(durations, 900);
	cells[ADA_REPORT_P99].number = ada_histogram_percentile(durations, 990);
	cells[ADA_REPORT_MAX].number = durations->max;
}

/* Rows that are equal sort by name, so that the order is the same every time. */
static int compare_report_rows(const void *left, const void *right, void *context)
{
	const struct ada_report_row *a = *(struct ada_report_row *const *)left, *b = *(struct ada_report_row *const *)right;
	enum ada_report_field field = *(const enum ada_report_field *)context;
	int result = 0;

	if (field == ADA_REPORT_FUNCTION || field == ADA_REPORT_MODULE)
		result = strcmp(a->cells[field].text, b->cells[field].text);
	else if (a->cells[field].number != b->cells[field].number)
		return a->cells[field].number > b->cells[field].number ? -1 : 1;
	if (!result)
		result = strcmp(a->cells[ADA_REPORT_FUNCTION].text, b->cells[ADA_REPORT_FUNCTION].text);
	return result ? result : strcmp(a->cells[ADA_REPORT_MODULE].text, b->cells[ADA_REPORT_MODULE].text);
}

int ada_report_order(const struct ada_stats *stats, enum ada_report_field field, struct ada_report_row *rows,
		     struct ada_report_row ***order)
{
	size_t count = stats->functions.count;

	*order = rows ? calloc(count + 1, sizeof **order) : NULL;
	if (!*order)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		ada_report_fill(&rows[i], stats->functions.items[i]);
		(*order)[i] = &rows[i];
	}
	qsort_r(*order, count, sizeof **order, compare_report_rows, &field);
	return 0;
}
