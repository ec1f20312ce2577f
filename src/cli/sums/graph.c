/* ada graph: the call tree. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/sums/commands.h"
#include "cli/sums/compare.h"
#include "cli/sums/graph_rows.h"
#include "query/sums/diff.h"
#include "query/sums/tree_focus.h"

#define TEXT_MIN_PERCENT 0.5
#define TEXT_DEPTH 100

struct options {
	struct ada_reading reading;
	struct ada_narrowing narrowing;
	const char *function, *diff;
	bool callers, fold, source;
	enum ada_graph_sort sort;
	double min_percent; /* below 0: not given */
	uint64_t depth;	    /* 0: not given */
};

enum { OPTION_CALLERS = 0x2000, OPTION_DEPTH, OPTION_FOLD, OPTION_MIN, OPTION_DIFF, OPTION_SOURCE };

static enum ada_graph_sort parse_sort(const struct argp_state *state, const char *name)
{
	if (!strcmp(name, "total") || !strcmp(name, "total_ns"))
		return ADA_GRAPH_TOTAL;
	if (!strcmp(name, "self") || !strcmp(name, "self_ns"))
		return ADA_GRAPH_SELF;
	if (!strcmp(name, "calls"))
		return ADA_GRAPH_CALLS;
	ada_options_fail(state, "can't sort by '%s': fields are total, self and calls", name);
}

static double parse_percent(const struct argp_state *state, const char *text)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || (*end && strcmp(end, "%")) || !(percent >= 0 && percent <= 100))
		ada_options_fail(state, "--min: '%s' is no percentage from 0 to 100", text);
	return percent;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	struct ada_error error = {};

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->reading;
		state->child_inputs[1] = &options->narrowing;
		return 0;
	case ARGP_KEY_END:
		if (options->callers && !options->function)
			ada_options_fail(state, "--callers needs --function=NAME: whose callers?");
		return 0;
	case 's': options->sort = parse_sort(state, argument); return 0;
	case 'F': options->function = argument; return 0;
	case OPTION_CALLERS: options->callers = true; return 0;
	case OPTION_FOLD: options->fold = true; return 0;
	case OPTION_DEPTH:
		if (ada_parse_count(argument, 1, UINT32_MAX, &options->depth, &error))
			ada_options_fail(state, "--depth: %s", error.text);
		return 0;
	case OPTION_MIN: options->min_percent = parse_percent(state, argument); return 0;
	case OPTION_DIFF: options->diff = argument; return 0;
	case OPTION_SOURCE: options->source = true; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options =
		(const struct argp_option[]){
			{ "function", 'F', "NAME", 0, "below this one (name or glob), its paths merged", 0 },
			{ "callers", OPTION_CALLERS, NULL, 0, "of --function: who led to it, turned around", 0 },
			{ "fold", OPTION_FOLD, NULL, 0, "recursion counts in the outermost call's line", 0 },
			{ "depth", OPTION_DEPTH, "N", 0, "at most N calls below each other (text: 100)", 0 },
			{ "min", OPTION_MIN, "PERCENT", 0, "only branches of that much of the tree (text: 0.5)", 0 },
			{ "sort", 's', "FIELD", 0, "total (default), self or calls, largest first", 0 },
			{ "diff", OPTION_DIFF, "SESSION", 0, "compare with this older one (BEFORE)", 0 },
			{ "source", OPTION_SOURCE, NULL, 0, "file and line of each function", 0 },
			{},
		},
	.parser = parse_option,
	.doc = "Prints the call tree of all threads: calls merged by the path that led there."
	       "\v% is of the time of all outermost calls; \"-\" began before --from.",
	.children = (const struct argp_child[]){ { .argp = &ada_reading_argp }, { .argp = &ada_narrowing_argp }, {} },
};

static bool is_wanted(void *context, const struct ada_tree_node *node)
{
	const struct ada_symbol *symbol = ada_module_symbol(node->module, ADA_FUNCTION_SYMBOL(node->function_id));
	char buffer[ADA_NAME_BUFFER];

	return ada_name_matches(context, symbol ? symbol->mangled : "", ada_module_function(node->module, node->function_id, buffer));
}

/* Makes one side's tree, as asked for, and the time of its whole run. */
static int make_tree(struct ada_tree *tree, uint64_t *run_ns, struct ada_comparison *comparison, int side, const struct options *options,
		     struct ada_error *error)
{
	struct ada_tree_how how = { .fold = options->fold };
	int result = ada_tree_compute_as(tree, &comparison->selections[side], &how, 0, error);

	if (result)
		return result;
	comparison->completeness[side] = tree->completeness;
	result = ada_graph_run_ns(tree, run_ns);
	if (!result && options->callers)
		result = ada_tree_callers(tree, is_wanted, (void *)options->function);
	else if (!result && options->function)
		result = ada_tree_below(tree, is_wanted, (void *)options->function);
	return result ? ada_error_set(error, -result, "out of memory") : 0;
}

static int make_graph(struct ada_graph *graph, struct ada_comparison *comparison, const struct options *options, struct ada_error *error)
{
	struct ada_tree before = {};
	int result = make_tree(&graph->tree, &graph->run_ns, comparison, ADA_NOW, options, error);

	if (result || !options->diff)
		return result;
	result = make_tree(&before, &graph->before_run_ns, comparison, ADA_BEFORE, options, error);
	if (!result && ada_diff_trees(&graph->tree, &before, &graph->before))
		result = ada_error_set(error, ENOMEM, "out of memory");
	ada_tree_free(&before);
	return result;
}

static int put_graph(struct ada_graph *graph, const struct ada_comparison *comparison, struct ada_output *output, struct ada_error *error)
{
	int result;

	if (graph->format == ADA_FORMAT_JSON)
		ada_output_string(output, "{");
	result = ada_graph_put(graph, output);
	if (result)
		return ada_error_set(error, -result, "out of memory");
	ada_compare_put_end(comparison, graph->format, output);
	if (graph->tree.cut && graph->format == ADA_FORMAT_CSV) /* has no place for it */
		fprintf(stderr, "ada graph: %s\n", ada_graph_cut(graph));
	return 0;
}

int ada_cmd_graph(int argc, char **argv)
{
	static struct ada_output output;
	struct options options = { .min_percent = -1 };
	struct ada_comparison comparison = {};
	struct ada_graph graph = {};
	struct ada_error error = {};
	int status;
	bool text;

	ada_options_parse(&argp, argc, argv, 0, &options);
	text = options.reading.format == ADA_FORMAT_TEXT;
	graph.format = options.reading.format;
	graph.sort = options.sort;
	graph.source = options.source;
	graph.inverted = options.callers;
	graph.of_function = options.function;
	graph.limit = options.narrowing.limit;
	graph.min_percent = options.min_percent >= 0 ? options.min_percent : text ? TEXT_MIN_PERCENT : 0;
	graph.depth = options.depth ? options.depth : text ? TEXT_DEPTH : UINT32_MAX;
	status = ada_compare_open(&comparison, argv[0], &options.reading, &options.narrowing, options.diff);
	if (status)
		goto done;
	ada_output_open(&output, STDOUT_FILENO);
	if (make_graph(&graph, &comparison, &options, &error)) {
		status = ada_compare_fail(&comparison, argv[0], &error);
		goto done;
	}
	ada_progress_close(&comparison.progress);
	if (text && options.function && !options.diff && graph.tree.nodes.count == 1)
		ada_answer_unmatched(&output, comparison.sessions[ADA_NOW], options.function);
	if (put_graph(&graph, &comparison, &output, &error))
		status = ada_compare_fail(&comparison, argv[0], &error);
	else
		status = ada_compare_finish(&comparison, argv[0], &output);
done:
	free(graph.before);
	ada_tree_free(&graph.tree);
	ada_compare_close(&comparison);
	return status;
}
