/* Calls and times by function: the rows of `ada report`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli/live/callers.h"
#include "cli/screen/keys.h"
#include "cli/screen/screen.h"
#include "cli/sums/report_rows.h"
#include "cli/tui/tui.h"

static const enum ada_report_field sorts[] = { ADA_REPORT_TOTAL, ADA_REPORT_SELF, ADA_REPORT_CALLS,   ADA_REPORT_MEAN,
					       ADA_REPORT_P99,	 ADA_REPORT_MAX,  ADA_REPORT_FUNCTION };
#define SORTS (sizeof sorts / sizeof *sorts)

static int sort_rows(struct ada_tui *tui)
{
	struct ada_tui_report *report = &tui->report;
	const struct ada_stats *stats = &tui->sums.stats;
	struct ada_report_row *rows = calloc(stats->functions.count + 1, sizeof *rows), **order;
	int result = ada_report_order(stats, sorts[report->sort], rows, &order);

	report->rows.count = 0;
	for (size_t i = 0; i < stats->functions.count && !result; i++)
		result = ada_array_push(&report->rows, (struct ada_function_stats *)order[i]->function);
	if (order)
		free(order);
	free(rows);
	return result;
}

int ada_tui_report_draw(struct ada_tui *tui, int row, int rows)
{
	struct ada_tui_report *report = &tui->report;
	struct ada_rows table;
	int result = 0;

	if (!report->rows.items)
		result = sort_rows(tui);
	if (!result)
		result = ada_sheet_begin(&tui->sheet);
	if (result)
		return result;
	ada_pane_fit(&report->pane, report->rows.count, (uint64_t)rows - 1);
	ada_rows_open(&table, &tui->sheet.output, ADA_FORMAT_TEXT, "rows", ada_report_columns, ADA_REPORT_FIELDS);
	table.spares = ADA_REPORT_SPARES;
	table.kept = ada_report_columns[sorts[report->sort]].name;
	for (uint64_t i = report->pane.top; i < report->rows.count && i - report->pane.top < report->pane.height && !result; i++) {
		struct ada_report_row filled;

		ada_report_fill(&filled, report->rows.items[i]);
		result = ada_rows_add(&table, filled.cells);
	}
	ada_rows_close(&table);
	result = result ?: ada_sheet_end(&tui->sheet);
	if (!result)
		ada_tui_put_sheet(tui, &report->pane, row);
	return result;
}

static const struct ada_function_stats *chosen_function(const struct ada_tui *tui)
{
	return tui->report.pane.cursor < tui->report.rows.count ? tui->report.rows.items[tui->report.pane.cursor] : NULL;
}

bool ada_tui_report_key(struct ada_tui *tui, int key)
{
	const struct ada_function_stats *function = chosen_function(tui);

	switch (key) {
	case 's':
		tui->report.sort = (tui->report.sort + 1) % SORTS;
		sort_rows(tui);
		ada_pane_move(&tui->report.pane, 0);
		return true;
	case 'c':
		if (function)
			ada_callers_read(&tui->selection, &(struct ada_callee){ function->module, function->function_id, function->key },
					 &tui->message);
		return true;
	case ADA_KEY_ENTER:
		if (function && ada_tui_graph_show(tui, function->key))
			tui->tab = ADA_TUI_GRAPH;
		return true;
	}
	return ada_pane_key(&tui->report.pane, key);
}

static bool function_holds(struct ada_tui *tui, uint64_t row)
{
	const struct ada_function_stats *function = tui->report.rows.items[row];
	char name[ADA_NAME_BUFFER];

	return strcasestr(ada_module_function(function->module, function->function_id, name), tui->search.text);
}

bool ada_tui_report_find(struct ada_tui *tui, bool backwards)
{
	return ada_tui_find_row(&tui->report.pane, backwards, function_holds, tui);
}

void ada_tui_report_close(struct ada_tui *tui)
{
	ada_array_free(&tui->report.rows);
}
