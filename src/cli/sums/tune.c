/* ada tune: which functions a next recording had better leave out. As text it is the file that `ada trace --exclude-from` takes. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/ground/rows.h"
#include "cli/sums/commands.h"
#include "query/sums/tune.h"

#define PERCENT_DEFAULT 5
#define CALLERS_SHOWN 10
#define OWN_LEAST 0.03 /* of the CPU time: the cost is estimated, and of a program that does little else it may come out as more than all */

enum field { FUNCTION, MODULE, GOES, CALLS, SHARE, SELF, BLURRED, FIELDS };

static const struct ada_column columns[FIELDS] = {
	[FUNCTION] = { "function", NULL, ADA_CELL_NAME },    [MODULE] = { "module", NULL, ADA_CELL_NAME },
	[GOES] = { "leave_out", NULL, ADA_CELL_BOOL },	     [CALLS] = { "calls", NULL, ADA_CELL_NUMBER },
	[SHARE] = { "share", NULL, ADA_CELL_WRITTEN },	     [SELF] = { "self_ns", NULL, ADA_CELL_NUMBER },
	[BLURRED] = { "blurred_ns", NULL, ADA_CELL_NUMBER },
};

static const struct ada_usage usage = {
	"[SESSION]",
	"Prints which functions to leave out so that recording takes no more than --cost, as a file for `ada trace --exclude-from`."
	"\vThe shortest functions go first: they cost most for what they say. The file's comments name what is lost.",
};

/* What the ledgers of all processes say together. */
struct price {
	double cost_ns, cpu_ns, events;
};

static struct price price_of(const struct ada_session *session)
{
	struct price price = { 0 };

	for (size_t i = 0; i < session->processes.count; i++) {
		const json_object *ledger = ada_json_get(session->processes.items[i]->manifest, "ledger");
		double cost_ns = (double)ada_json_u64(ledger, "costNs", 0), cpu_ns = (double)ada_json_u64(ledger, "cpuNs", 0);
		double most_ns = cpu_ns * (1 - OWN_LEAST);

		if (cost_ns <= 0 || cpu_ns <= 0)
			continue;
		price.cost_ns += cost_ns < most_ns ? cost_ns : most_ns;
		price.cpu_ns += cpu_ns;
		price.events += (double)ada_json_u64(ledger, "events", 0);
	}
	return price;
}

static double parse_percent(const char *command, const char *text)
{
	char *end;
	double percent = text ? strtod(text, &end) : PERCENT_DEFAULT;

	if (text && (end == text || (*end && strcmp(end, "%")) || !(percent > 0 && percent < 100)))
		ada_options_fail(command, "--cost: '%s' is no percentage between 0 and 100", text);
	return percent;
}

/* Of the calls that the session has, how many recording may take: with the rest of the program, the cost is `percent` of all. */
static uint64_t calls_allowed(const struct price *price, uint64_t calls, double percent)
{
	double own_ns = price->cpu_ns - price->cost_ns, allowed_ns = own_ns * percent / (100 - percent);

	return (uint64_t)((double)calls * allowed_ns / price->cost_ns);
}

static uint64_t calls_of(const struct ada_tree *tree)
{
	uint64_t calls = 0;

	for (size_t i = 1; i < tree->nodes.count; i++)
		calls += tree->nodes.items[i].calls;
	return calls;
}

/* The pattern that means this function and no other. */
static const char *pattern_of(const struct ada_tune_function *function, char buffer[ADA_NAME_BUFFER])
{
	const struct ada_symbol *symbol = ada_module_symbol(function->module, ADA_FUNCTION_SYMBOL(function->function_id));

	return symbol && *symbol->mangled ? symbol->mangled : ada_module_function(function->module, function->function_id, buffer);
}

static double part_of(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void put_callers(const struct ada_tune *tune, struct ada_output *output)
{
	for (size_t i = tune->going; i < tune->functions.count && i < tune->going + CALLERS_SHOWN; i++) {
		const struct ada_tune_function *function = &tune->functions.items[i];
		char name[ADA_NAME_BUFFER], time[ADA_UNITS_TEXT];

		if (!function->blurred_ns)
			break;
		if (i == tune->going)
			ada_output_string(output, "#\n# The time of what goes counts as its callers' own:\n");
		ada_output_format(output, "#   %5.1f %% of what would be the own time of %s (%s)\n",
				  part_of(function->blurred_ns, function->blurred_ns + function->self_ns),
				  ada_module_function(function->module, function->function_id, name),
				  ada_format_duration(function->blurred_ns, time));
	}
}

/* What a budget left out of this recording would cost most in the next one. Each once, though processes have it many times. */
static int put_muted(const struct ada_tune *tune, const struct ada_session *session, struct ada_output *output)
{
	struct ada_table told = {}; /* by key */
	struct ada_muted muted;
	uint64_t seen;
	int status = 0;

	for (size_t i = 0; i < tune->going && !status; i++)
		status = ada_table_put(&told, tune->functions.items[i].key, 1);
	for (size_t i = 0; i < session->processes.count; i++) {
		const struct ada_process *process = session->processes.items[i];

		for (size_t j = 0; !status && ada_process_muted(process, j, &muted); j++) {
			struct ada_tune_function function = { .module = ada_process_module(process, muted.function_id),
							      .function_id = muted.function_id };
			uint64_t key = ada_process_function_key(process, muted.function_id);
			char name[ADA_NAME_BUFFER];

			if (muted.filtered || !function.module || ada_table_get(&told, key, &seen))
				continue;
			status = ada_table_put(&told, key, 1);
			ada_output_format(output, "#\n# %s of %s: muted, with %.0f calls a second before\n",
					  ada_module_function(function.module, function.function_id, name),
					  ada_module_name(function.module), muted.calls_a_second);
			ada_output_format(output, "%s\n", pattern_of(&function, name));
		}
	}
	ada_table_free(&told);
	return status;
}

static void put_file(const struct ada_tune *tune, const struct price *price, const struct ada_completeness *completeness, double percent,
		     struct ada_output *output)
{
	char cost[ADA_UNITS_TEXT], cpu[ADA_UNITS_TEXT], calls[ADA_UNITS_TEXT];

	ada_output_format(output, "# ada tune: recording took about %s of %s of CPU time (%.0f %%), %.3g ns an event.\n",
			  ada_format_duration((uint64_t)price->cost_ns, cost), ada_format_duration((uint64_t)price->cpu_ns, cpu),
			  100 * price->cost_ns / price->cpu_ns, price->cost_ns / price->events);
	if (completeness->muted)
		ada_output_format(output,
				  "# But this is a recording under a budget, of which %" PRIu64
				  " function%s muted, about %.3g %% of the calls: "
				  "what follows holds without %s, too.\n",
				  completeness->muted, completeness->muted == 1 ? " was" : "s were", 100 * completeness->muted_share,
				  completeness->muted == 1 ? "that one" : "those");
	if (!tune->going && completeness->muted)
		ada_output_format(output, "# That is no more than %.3g %%: no others need be left out.\n", percent);
	else if (!tune->going)
		ada_output_format(output, "# That is no more than %.3g %%: nothing need be left out.\n", percent);
	else
		ada_output_format(output, "# Without %s %zu function%s, which make%s %.1f %% of the calls, it takes %.3g %% at most%s\n",
				  tune->going == 1 ? "this" : "these", tune->going, tune->going == 1 ? "" : "s",
				  tune->going == 1 ? "s" : "", part_of(tune->calls - tune->calls_left, tune->calls), percent,
				  tune->enough ? "." : ", and some more: what is left is in small parts.");
	put_callers(tune, output);
	for (size_t i = 0; i < tune->going; i++) {
		const struct ada_tune_function *function = &tune->functions.items[i];
		char name[ADA_NAME_BUFFER], mean[ADA_UNITS_TEXT];

		ada_output_format(output, "#\n# %s of %s: %s calls, %.1f %%, of %s each\n",
				  ada_module_function(function->module, function->function_id, name), ada_module_name(function->module),
				  ada_format_count(function->calls, calls), part_of(function->calls, tune->calls),
				  ada_format_duration(function->self_ns / function->calls, mean));
		ada_output_format(output, "%s\n", pattern_of(function, name));
	}
}

static int put_rows(const struct ada_tune *tune, const struct ada_tree *tree, enum ada_format format, struct ada_output *output)
{
	struct ada_rows table;
	int status = 0;

	if (format == ADA_FORMAT_JSON)
		ada_output_string(output, "{");
	ada_rows_open(&table, output, format, "rows", columns, FIELDS);
	for (size_t i = 0; i < tune->functions.count && !status; i++) {
		const struct ada_tune_function *function = &tune->functions.items[i];
		char name[ADA_NAME_BUFFER], share[ADA_UNITS_TEXT];

		snprintf(share, sizeof share, "%.4f", part_of(function->calls, tune->calls) / 100);
		status = ada_rows_add(&table, (const struct ada_cell[FIELDS]){
						      [FUNCTION] = { .text = pattern_of(function, name) },
						      [MODULE] = { .text = ada_module_name(function->module) },
						      [GOES] = { .number = function->goes },
						      [CALLS] = { .number = function->calls },
						      [SHARE] = { .text = share },
						      [SELF] = { .number = function->self_ns },
						      [BLURRED] = { .number = function->blurred_ns },
					      });
	}
	ada_rows_close(&table);
	if (format == ADA_FORMAT_JSON)
		ada_completeness_json(output, &tree->completeness);
	return status;
}

static int answer(struct ada_session *session, const struct ada_options *options, double percent, struct ada_output *output,
		  struct ada_error *error)
{
	struct price price = price_of(session);
	struct ada_selection selection = {};
	struct ada_tree_how how = {};
	struct ada_tree tree = {};
	struct ada_tune tune = {};
	int status;

	if (price.cost_ns <= 0)
		return ada_error_set(error, ENODATA,
				     "%s: nothing says what recording cost: no short function was called often, or ada was older",
				     session->path);
	status = ada_answer_select(&selection, session, options, error);
	if (!status)
		status = ada_tree_compute(&tree, &selection, &how, 0, error);
	if (!status && ada_tune_compute(&tune, &tree, calls_allowed(&price, calls_of(&tree), percent)))
		status = ada_error_set(error, ENOMEM, "out of memory");
	if (!status && options->format == ADA_FORMAT_TEXT)
		put_file(&tune, &price, &tree.completeness, percent, output);
	if (!status &&
	    (options->format == ADA_FORMAT_TEXT ? put_muted(&tune, session, output) : put_rows(&tune, &tree, options->format, output)))
		status = ada_error_set(error, ENOMEM, "out of memory");
	ada_tune_free(&tune);
	ada_tree_free(&tree);
	ada_selection_close(&selection);
	return status;
}

int ada_cmd_tune(int argc, char **argv)
{
	static struct ada_output output;
	struct ada_options options = {};
	struct ada_session *session;
	struct ada_error error = {};
	double percent;
	int status;

	ada_options_take(&options, &usage, argc, argv);
	percent = parse_percent(argv[0], options.min_percent);
	status = ada_answer_open(argv[0], &options, &session);
	if (status)
		return status;
	ada_output_open(&output, STDOUT_FILENO);
	if (answer(session, &options, percent, &output, &error))
		status = ada_interrupted() ? ada_interrupt_status() : ada_answer_fail(argv[0], &error);
	else
		status = ada_answer_finish(argv[0], &output, session);
	ada_session_close(session);
	return status;
}
