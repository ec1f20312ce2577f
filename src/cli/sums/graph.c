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

static enum ada_graph_sort parse_sort(const char *command, const char *name)
{
	if (!strcmp(name, "total") || !strcmp(name, "total_ns"))
		return ADA_GRAPH_TOTAL;
	if (!strcmp(name, "self") || !strcmp(name, "self_ns"))
		return ADA_GRAPH_SELF;
	if (!strcmp(name, "calls"))
		return ADA_GRAPH_CALLS;
	ada_options_fail(command, "can't sort by '%s': fields are total, self and calls", name);
}

static double parse_percent(const char *command, const char *text)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || (*end && strcmp(end, "%")) || !(percent >= 0 && percent <= 100))
		ada_options_fail(command, "--min: '%s' is no percentage from 0 to 100", text);
	return percent;
}

static const struct ada_usage usage = {
	"[SESSION]",
	"Prints the call tree of all threads: calls merged by the path that led there."
	"\v% is of the time of all outermost calls; \"-\" began before --from.",
};

static bool is_wanted(void *context, const struct ada_tree_node *node)
{
	return ada_module_is_meant(node->module, node->function_id, context);
}

/* Makes one side's tree, as asked for, and the time of its whole run. */
static int make_tree(struct ada_tree *tree, uint64_t *run_ns, struct ada_comparison *comparison, int side,
		     const struct ada_options *options, struct ada_error *error)
{
	struct ada_tree_how how = { .fold = options->fold, .clip = options->clip };
	int result = ada_tree_compute(tree, &comparison->selections[side], &how, 0, error);

	if (result)
		return result;
	comparison->completeness[side] = tree->completeness;
	result = ada_graph_run_ns(tree, run_ns);
	if (!result && options->callers)
		result = ada_tree_callers(tree, is_wanted, (void *)&options->functions);
	else if (!result && options->functions.items.count)
		result = ada_tree_below(tree, is_wanted, (void *)&options->functions);
	return result ? ada_error_set(error, -result, "out of memory") : 0;
}

static int make_graph(struct ada_graph *graph, struct ada_comparison *comparison, const struct ada_options *options,
		      struct ada_error *error)
{
	struct ada_tree before = {};
	int result = make_tree(&graph->tree, &graph->run_ns, comparison, ADA_NOW, options, error);

	if (result || !options->diff)
		return result;
	result = make_tree(&before, &graph->before_run_ns, comparison, ADA_BEFORE, options, error);
	if (!result && (ada_diff_trees(&graph->tree, &before, &graph->before) || ada_diff_mark_muted(&graph->tree, comparison->selections)))
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
	struct ada_options options = { .sort = "total" };
	struct ada_comparison comparison = {};
	struct ada_graph graph = {};
	struct ada_error error = {};
	int status;
	bool text;

	ada_options_take(&options, &usage, argc, argv);
	if (options.callers && !options.functions.items.count)
		ada_options_fail(argv[0], "--callers needs --function=NAME: whose callers?");
	text = options.format == ADA_FORMAT_TEXT;
	graph.format = options.format;
	graph.sort = parse_sort(argv[0], options.sort);
	graph.source = options.source;
	graph.inverted = options.callers;
	graph.of_function = options.functions.items.count;
	graph.limit = options.limit;
	graph.min_percent = options.min_percent ? parse_percent(argv[0], options.min_percent) : text ? TEXT_MIN_PERCENT : 0;
	graph.depth = options.depth ? options.depth : text ? TEXT_DEPTH : UINT32_MAX;
	status = ada_compare_open(&comparison, argv[0], &options);
	if (status)
		goto done;
	ada_output_open(&output, STDOUT_FILENO);
	if (make_graph(&graph, &comparison, &options, &error)) {
		status = ada_compare_fail(&comparison, argv[0], &error);
		goto done;
	}
	ada_progress_close(&comparison.progress);
	if (text && !options.diff)
		ada_answer_unmatched(&output, "", comparison.sessions[ADA_NOW], &options.functions);
	if (put_graph(&graph, &comparison, &output, &error))
		status = ada_compare_fail(&comparison, argv[0], &error);
	else
		status = ada_compare_finish(&comparison, argv[0], &output);
done:
	free(graph.before);
	ada_tree_free(&graph.tree);
	ada_compare_close(&comparison);
	ada_options_free(&options);
	return status;
}
