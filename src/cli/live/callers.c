#include "cli/live/callers.h"
#include <errno.h>
#include <stdio.h>
#include "cli/screen/reader.h"
#include "cli/sums/graph_rows.h"
#include "query/sums/tree_focus.h"

#define DEPTH 100

static bool is_wanted(void *context, const struct ada_tree_node *node)
{
	const struct ada_callee *callee = context;

	return node->key == callee->key;
}

static int compute_callers(struct ada_graph *graph, const struct ada_selection *selection, const struct ada_callee *callee,
			   struct ada_error *error)
{
	int result = ada_tree_compute(&graph->tree, selection, &(struct ada_tree_how){}, 0, error);

	if (result)
		return result;
	result = ada_graph_run_ns(&graph->tree, &graph->run_ns) ?: ada_tree_callers(&graph->tree, is_wanted, (void *)callee);
	return result ? ada_error_set(error, -result, "out of memory") : 0;
}

int ada_callers_read(const struct ada_selection *selection, const struct ada_callee *callee, struct ada_error *error)
{
	struct ada_graph graph = { .inverted = true, .of_function = true, .depth = DEPTH, .limit = UINT64_MAX };
	struct ada_sheet sheet = {};
	char name[ADA_NAME_BUFFER], title[ADA_NAME_BUFFER + 32];
	int result = compute_callers(&graph, selection, callee, error);

	if (!result) {
		result = ada_sheet_begin(&sheet) ?: ada_graph_put(&graph, &sheet.output) ?: ada_sheet_end(&sheet);
		if (result)
			ada_error_system(error, -result, "can't show the callers");
	}
	if (!result) {
		snprintf(title, sizeof title, "Callers of %s, from the inside outwards",
			 ada_module_function(callee->module, callee->function_id, name));
		ada_read(title, &sheet);
	}
	ada_sheet_close(&sheet);
	ada_tree_free(&graph.tree);
	return result;
}
