/* ada report: calls and times per function. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/rows.h"
#include "query/stats.h"

enum field { FUNCTION, MODULE, CALLS, TOTAL, SELF, MIN, MEAN, P50, P90, P99, MAX, FIELDS };

static const struct ada_column columns[FIELDS] = {
	[FUNCTION] = { "function", "FUNCTION", ADA_CELL_NAME },
	[MODULE] = { "module", "MODULE", ADA_CELL_NAME },
	[CALLS] = { "calls", "CALLS", ADA_CELL_NUMBER },
	[TOTAL] = { "total_ns", "TOTAL", ADA_CELL_DURATION },
	[SELF] = { "self_ns", "SELF", ADA_CELL_DURATION },
	[MIN] = { "min_ns", "MIN", ADA_CELL_DURATION },
	[MEAN] = { "mean_ns", "MEAN", ADA_CELL_DURATION },
	[P50] = { "p50_ns", "P50", ADA_CELL_DURATION },
	[P90] = { "p90_ns", "P90", ADA_CELL_DURATION },
	[P99] = { "p99_ns", "P99", ADA_CELL_DURATION },
	[MAX] = { "max_ns", "MAX", ADA_CELL_DURATION },
};

struct options {
	struct ada_reading reading;
	struct ada_narrowing narrowing;
	enum field sort;
};

/* A function's row, with room for a name that is made up. */
struct row {
	struct ada_cell cells[FIELDS];
	char name[ADA_NAME_BUFFER];
};

static enum field parse_field(const struct argp_state *state, const char *name)
{
	for (enum field field = 0; field < FIELDS; field++) {
		size_t length = strlen(columns[field].name);

		/* "total" will do for "total_ns" */
		if (!strcmp(name, columns[field].name) ||
		    (length > 3 && strlen(name) == length - 3 && !strncmp(name, columns[field].name, length - 3) &&
		     !strcmp(columns[field].name + length - 3, "_ns")))
			return field;
	}
	ada_options_fail(state, "can't sort by '%s': fields are function, module, calls, total, self, min, mean, p50, p90,"
			 " p99, max", name);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->reading;
		state->child_inputs[1] = &options->narrowing;
		return 0;
	case 's':
		options->sort = parse_field(state, argument);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = (const struct argp_option[]){
		{ "sort", 's', "FIELD", 0, "function, module, calls, total (default), self, min, mean, p50, p90, p99 or max;"
		  " numbers largest first", 0 },
		{},
	},
	.parser = parse_option,
	.doc = "Prints for each function how often it was called and how long its calls took."
	       "\vTOTAL counts recursion once, SELF is without the calls below; MIN to MAX are of all calls, percentiles within"
	       " 1 %. A call counts where it begins between --from and --to. One still open when the recording ends lasts until"
	       " then; one whose end was not recorded counts in CALLS alone, one during which events were lost in CALLS, TOTAL and"
	       " SELF.",
	.children = (const struct argp_child[]){ { .argp = &ada_reading_argp }, { .argp = &ada_narrowing_argp }, {} },
};

static void fill_row(struct row *row, const struct ada_function_stats *function)
{
	const struct ada_histogram *durations = &function->durations;
	struct ada_cell *cells = row->cells;

	*row = (struct row){};
	cells[FUNCTION].text = ada_module_function(function->module, function->function_id, row->name);
	cells[MODULE].text = ada_module_name(function->module);
	cells[CALLS].number = function->calls;
	cells[TOTAL].number = function->total_ns;
	cells[SELF].number = function->self_ns;
	for (enum field field = MIN; field < FIELDS; field++)
		cells[field].absent = !durations->count;
	if (!durations->count)
		return;
	cells[MIN].number = durations->min;
	cells[MEAN].number = durations->sum / durations->count;
	cells[P50].number = ada_histogram_percentile(durations, 500);
	cells[P90].number = ada_histogram_percentile(durations, 900);
	cells[P99].number = ada_histogram_percentile(durations, 990);
	cells[MAX].number = durations->max;
}

/* Falls back on the name, so that the order is the same every time. */
static int compare_rows(const void *left, const void *right, void *context)
{
	const struct row *a = *(struct row *const *)left, *b = *(struct row *const *)right;
	enum field field = *(const enum field *)context;
	int result = 0;

	if (columns[field].kind == ADA_CELL_NAME)
		result = strcmp(a->cells[field].text, b->cells[field].text);
	else if (a->cells[field].number != b->cells[field].number)
		return a->cells[field].number > b->cells[field].number ? -1 : 1;
	if (!result)
		result = strcmp(a->cells[FUNCTION].text, b->cells[FUNCTION].text);
	return result ? result : strcmp(a->cells[MODULE].text, b->cells[MODULE].text);
}

static int print_rows(struct row *const *rows, size_t count, const struct ada_completeness *completeness,
		      const struct options *options, struct ada_output *output)
{
	struct ada_rows table;

	if (options->reading.format == ADA_FORMAT_JSON)
		ada_output_string(output, "{");
	ada_rows_open(&table, output, options->reading.format, "rows", columns, FIELDS);
	for (size_t i = 0; i < count; i++)
		if (ada_rows_add(&table, rows[i]->cells)) {
			ada_rows_close(&table);
			return -1;
		}
	ada_rows_close(&table);
	if (options->reading.format == ADA_FORMAT_JSON) {
		ada_completeness_json(output, completeness);
	} else if (options->reading.format == ADA_FORMAT_TEXT) {
		ada_output_string(output, count ? "\n" : "");
		ada_completeness_text(output, completeness);
	}
	return 0;
}

static int print_stats(const struct ada_stats *stats, const struct options *options, struct ada_output *output)
{
	size_t count = stats->functions.count;
	struct row **order = calloc(count + 1, sizeof *order);
	struct row *rows = calloc(count + 1, sizeof *rows);
	int result = -1;

	if (!rows || !order)
		goto done;
	/* Rows stay where they are, for a cell may point into its row. */
	for (size_t i = 0; i < count; i++) {
		fill_row(&rows[i], stats->functions.items[i]);
		order[i] = &rows[i];
	}
	qsort_r(order, count, sizeof *order, compare_rows, (void *)&options->sort);
	result = print_rows(order, count < options->narrowing.limit ? count : options->narrowing.limit, &stats->completeness,
			    options, output);
done:
	free(order);
	free(rows);
	return result;
}

int ada_cmd_report(int argc, char **argv)
{
	static struct ada_output output;
	struct options options = { .sort = TOTAL };
	struct ada_selection selection = {};
	struct ada_session *session = NULL;
	struct ada_error error = {};
	struct ada_stats stats = {};
	int status;

	ada_options_parse(&argp, argc, argv, 0, &options);
	status = ada_answer_open(argv[0], &options.reading, &session);
	if (status)
		return status;
	ada_output_open(&output, STDOUT_FILENO);
	if (ada_answer_select(&selection, session, &options.narrowing, &error) ||
	    ada_stats_compute(&stats, &selection, 0, &error)) {
		status = ada_answer_fail(argv[0], &error);
		goto done;
	}
	if (print_stats(&stats, &options, &output)) {
		ada_error_set(&error, ENOMEM, "out of memory");
		status = ada_answer_fail(argv[0], &error);
		goto done;
	}
	status = ada_answer_finish(argv[0], &output, session);
done:
	ada_stats_free(&stats);
	ada_selection_close(&selection);
	ada_session_close(session);
	return status;
}
