/* ada report: calls and times per function. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/ground/answer.h"
#include "cli/ground/rows.h"
#include "cli/ground/source_cells.h"
#include "cli/sums/commands.h"
#include "cli/sums/compare.h"
#include "cli/sums/library.h"
#include "cli/sums/muted_cells.h"
#include "cli/sums/report_cost.h"
#include "cli/sums/report_diff.h"
#include "cli/sums/report_rows.h"
#include "query/sums/cpu.h"

#define CPU_CELLS 2
/* Behind these, where there is something to say in them. */
static const struct ada_column muted_column = ADA_MUTED_COLUMN;
static const struct ada_column cpu_columns[CPU_CELLS] = { { "on_cpu_ns", "ON CPU", ADA_CELL_DURATION },
							  { "off_cpu_ns", "OFF CPU", ADA_CELL_DURATION } };
static const struct ada_column source_columns[ADA_SOURCE_CELLS] = { ADA_SOURCE_COLUMNS };
#define COLUMNS_MAX (ADA_REPORT_FIELDS + CPU_CELLS + 1 + ADA_SOURCE_CELLS)
_Static_assert(COLUMNS_MAX <= ADA_REPORT_CELLS, "a row has room for all its cells");

static enum ada_report_field parse_field(const char *command, const char *name)
{
	for (enum ada_report_field field = 0; field < ADA_REPORT_FIELDS; field++) {
		size_t length = strlen(ada_report_columns[field].name);

		/* "total" will do for "total_ns" */
		if (!strcmp(name, ada_report_columns[field].name) ||
		    (length > 3 && strlen(name) == length - 3 && !strncmp(name, ada_report_columns[field].name, length - 3) &&
		     !strcmp(ada_report_columns[field].name + length - 3, "_ns")))
			return field;
	}
	ada_options_fail(command,
			 "can't sort by '%s': fields are function, module, calls, total, self, min, mean, p50, p90,"
			 " p99, max",
			 name);
}

static const struct ada_usage usage = {
	"[SESSION]",
	"Prints for each function how often it was called and how long its calls took."
	"\vTOTAL counts recursion once, SELF is without the calls below; MIN to MAX are of all calls, percentiles within"
	" 1 %. A call counts where it begins between --from and --to, a call still open at the recording's end until then.",
};

static size_t choose_columns(struct ada_column chosen[COLUMNS_MAX], const struct ada_stats *stats, const struct ada_options *options)
{
	size_t count = ADA_REPORT_FIELDS;

	memcpy(chosen, ada_report_columns, ADA_REPORT_FIELDS * sizeof *chosen);
	for (size_t i = 0; i < CPU_CELLS && options->cpu; i++)
		chosen[count++] = cpu_columns[i];
	if (stats->muted)
		chosen[count++] = muted_column;
	for (size_t i = 0; i < ADA_SOURCE_CELLS && options->source; i++)
		chosen[count++] = source_columns[i];
	return count;
}

static int put_rows(struct ada_report_row *const *rows, size_t count, const struct ada_stats *stats, const struct ada_options *options,
		    struct ada_output *output)
{
	struct ada_column chosen[COLUMNS_MAX];
	enum ada_format format = options->format;
	char source[ADA_SOURCE_TEXT];
	struct ada_rows table;
	int result = 0;

	ada_rows_open(&table, output, format, "rows", chosen, choose_columns(chosen, stats, options));
	table.full_names = options->full_names;
	table.spares = ADA_REPORT_SPARES;
	table.kept = ada_report_columns[parse_field(options->command, options->sort)].name;
	for (size_t i = 0; i < count && !result; i++) {
		const struct ada_function_stats *function = rows[i]->function;
		struct ada_cell *cell = &rows[i]->cells[ADA_REPORT_FIELDS];

		for (size_t k = 0; k < CPU_CELLS && options->cpu; k++)
			*cell++ = (struct ada_cell){ .number = k ? function->off_ns : function->on_ns, .absent = !function->cpu_known };
		if (stats->muted)
			*cell++ = ada_muted_cell(function->muted, format);
		if (options->source)
			ada_source_fill(cell, function->module, function->function_id, format, source);
		result = ada_rows_add(&table, rows[i]->cells);
	}
	ada_rows_close(&table);
	if (count && format == ADA_FORMAT_TEXT)
		ada_output_string(output, "\n");
	if (stats->muted && format == ADA_FORMAT_TEXT)
		ada_output_string(output, ADA_MUTED_LEGEND);
	return result;
}

static bool is_wanted(const struct ada_function_stats *function, const struct ada_pattern_list *patterns)
{
	return !patterns->items.count || ada_module_is_meant(function->module, function->function_id, patterns);
}

static int put_stats(const struct ada_stats *stats, const struct ada_session *session, const struct ada_options *options,
		     struct ada_output *output)
{
	struct ada_report_row *rows = calloc(stats->functions.count + 1, sizeof *rows), **order;
	int result = ada_report_order(stats, parse_field(options->command, options->sort), rows, &order);
	size_t count = 0;

	if (result)
		goto done;
	for (size_t i = 0; i < stats->functions.count; i++)
		if (is_wanted(order[i]->function, &options->functions))
			order[count++] = order[i];
	if (options->format == ADA_FORMAT_TEXT)
		ada_answer_unmatched(output, "", session, &options->functions);
	result = put_rows(order, count < options->limit ? count : options->limit, stats, options, output);
	if (!result && options->format == ADA_FORMAT_TEXT && !options->functions.items.count)
		result = ada_library_put(stats, session, output);
done:
	free(order);
	free(rows);
	return result;
}

static int put_diff(struct ada_stats *now, struct ada_stats *before, const struct ada_options *options, struct ada_output *output)
{
	struct ada_report_diff how = { .format = options->format,
				       .sort = options->sort,
				       .functions = &options->functions,
				       .limit = options->limit,
				       .source = options->source,
				       .full_names = options->full_names,
				       .muted = now->muted || before->muted };
	struct ada_diff diff;
	int result = ada_diff_stats(&diff, now, before);

	if (!result)
		result = ada_report_diff_put(&how, &diff, output);
	ada_diff_free(&diff);
	return result;
}

static int put_answer(struct ada_stats stats[ADA_SIDES], const struct ada_comparison *comparison, const struct ada_options *options,
		      struct ada_output *output, struct ada_error *error)
{
	int result;

	if (options->format == ADA_FORMAT_JSON)
		ada_output_string(output, "{");
	if (options->diff)
		result = put_diff(&stats[ADA_NOW], &stats[ADA_BEFORE], options, output);
	else
		result = put_stats(&stats[ADA_NOW], comparison->sessions[ADA_NOW], options, output);
	if (result)
		return ada_error_set(error, -result, "out of memory");
	ada_compare_put_end(comparison, options->format, output);
	return 0;
}

static int compute(struct ada_stats stats[ADA_SIDES], struct ada_comparison *comparison, bool cpu, struct ada_error *error)
{
	for (int side = 0; side < ADA_SIDES && comparison->sessions[side]; side++) {
		int result = ada_stats_compute(&stats[side], &comparison->selections[side], 0, error);

		if (!result)
			result = ada_stats_mark_muted(&stats[side], &comparison->selections[side], error);
		if (!result && cpu)
			result = ada_stats_add_cpu(&stats[side], &comparison->selections[side], error);
		if (result)
			return result;
		comparison->completeness[side] = stats[side].completeness;
	}
	ada_progress_close(&comparison->progress);
	return 0;
}

static int put_cost(const char *command, const struct ada_options *options)
{
	static struct ada_output output;
	struct ada_session *session;
	struct ada_error error = {};
	int status;

	if (options->diff || options->thread || options->from || options->to || options->source)
		ada_options_fail(command, "--cost is told of whole recordings: it takes no --diff, --thread, --from, --to or --source");
	status = ada_answer_open(command, options, &session);
	if (status)
		return status;
	ada_output_open(&output, STDOUT_FILENO);
	if (ada_report_cost_put(session, options, &output)) {
		ada_error_set(&error, ENOMEM, "out of memory");
		status = ada_answer_fail(command, &error);
	} else {
		status = ada_answer_finish(command, &output, session);
	}
	ada_session_close(session);
	return status;
}

int ada_cmd_report(int argc, char **argv)
{
	static struct ada_output output;
	struct ada_options options = { .sort = "total" };
	struct ada_stats stats[ADA_SIDES] = {};
	struct ada_comparison comparison;
	struct ada_error error = {};
	int status;

	ada_options_take(&options, &usage, argc, argv);
	if (options.cost)
		return put_cost(argv[0], &options);
	parse_field(argv[0], options.sort); /* or fails */
	if (options.diff && !ada_report_diff_sorts(options.sort))
		ada_options_fail(argv[0],
				 "can't sort a comparison by '%s': fields are function, module, calls, total, self,"
				 " mean, p50, p99",
				 options.sort);
	if (options.diff && options.cpu)
		ada_options_fail(argv[0], "--cpu is told of one recording: it takes no --diff");
	status = ada_compare_open(&comparison, argv[0], &options);
	if (status)
		goto done;
	ada_output_open(&output, STDOUT_FILENO);
	if (compute(stats, &comparison, options.cpu, &error) || put_answer(stats, &comparison, &options, &output, &error))
		status = ada_compare_fail(&comparison, argv[0], &error);
	else
		status = ada_compare_finish(&comparison, argv[0], &output);
done:
	for (int side = 0; side < ADA_SIDES; side++)
		ada_stats_free(&stats[side]);
	ada_compare_close(&comparison);
	ada_options_free(&options);
	return status;
}
