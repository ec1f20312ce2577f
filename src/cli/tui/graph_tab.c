/* The call tree, of which branches are folded. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/ground/rows.h"
#include "cli/live/callers.h"
#include "cli/screen/keys.h"
#include "cli/screen/screen.h"
#include "cli/sums/graph_rows.h"
#include "cli/tui/tui.h"

#define OPEN_SHARE 200 /* branches below half a percent of the run are folded at first */
#define OPEN_DEPTH 100
#define INDENT_MAX 60

static const struct ada_column columns[] = { { "calls", "CALLS", ADA_CELL_NUMBER },
					     { "total_ns", "TOTAL", ADA_CELL_DURATION },
					     { "self_ns", "SELF", ADA_CELL_DURATION },
					     { "percent", "%", ADA_CELL_WRITTEN },
					     { "function", "FUNCTION", ADA_CELL_NAME } };
#define COLUMNS (sizeof columns / sizeof *columns)

static const char *node_name(const struct ada_tree_node *node, char buffer[ADA_NAME_BUFFER])
{
	return node->function_id == ADA_NO_FUNCTION ? "(other paths)" : ada_module_function(node->module, node->function_id, buffer);
}

/* --- rows ----------------------------------------------------------------------------------------------------------------- */

/* Which nodes are seen; the cursor stays on its node, or goes to the one that hides it. */
static int see(struct ada_tui *tui, uint32_t wanted)
{
	struct ada_tui_graph *graph = &tui->graph;
	const struct ada_tree *tree = &tui->sums.tree;
	uint64_t cursor = 0;

	graph->rows.count = 0;
	for (uint32_t node = ada_tree_next(tree, 0); node;
	     node = graph->folded[node] ? ada_tree_skip(tree, node) : ada_tree_next(tree, node)) {
		if (ada_array_push(&graph->rows, node))
			return -ENOMEM;
		if (node == wanted)
			cursor = graph->rows.count - 1;
	}
	graph->pane.count = graph->rows.count;
	ada_pane_move(&graph->pane, cursor);
	return 0;
}

static int fold_at_first(struct ada_tui *tui)
{
	struct ada_tui_graph *graph = &tui->graph;
	const struct ada_tree *tree = &tui->sums.tree;

	free(graph->folded);
	free(graph->weights);
	graph->folded = calloc(tree->nodes.count, sizeof *graph->folded);
	graph->weights = ada_graph_weights(tree);
	if (!graph->folded || !graph->weights || ada_graph_run_ns(tree, &graph->run_ns))
		return -ENOMEM;
	for (uint32_t i = 1; i < tree->nodes.count; i++)
		graph->folded[i] = graph->weights[i] < graph->run_ns / OPEN_SHARE || tree->nodes.items[i].depth > OPEN_DEPTH;
	return see(tui, 0);
}

/* A key may come before the tab was drawn. */
static int get_ready(struct ada_tui *tui)
{
	return tui->graph.folded && tui->graph.weights ? 0 : fold_at_first(tui);
}

static void unfold_above(struct ada_tui *tui, uint32_t node)
{
	const struct ada_tree_node *nodes = tui->sums.tree.nodes.items;

	for (uint32_t above = nodes[node].parent; above; above = nodes[above].parent)
		tui->graph.folded[above] = false;
	see(tui, node);
}

static uint32_t chosen_node(const struct ada_tui *tui)
{
	return tui->graph.pane.cursor < tui->graph.rows.count ? tui->graph.rows.items[tui->graph.pane.cursor] : 0;
}

static int put_node(const struct ada_tui *tui, struct ada_rows *table, uint32_t number)
{
	const struct ada_tree_node *nodes = tui->sums.tree.nodes.items, *node = &nodes[number];
	const char *module = ada_module_name(node->module), *mark = !node->first ? "  " : tui->graph.folded[number] ? "+ " : "- ";
	bool moved = *module && strcmp(module, ada_module_name(nodes[node->parent].module)), outside = !node->calls;
	char buffer[ADA_NAME_BUFFER], text[ADA_NAME_BUFFER + 512], percent[32];
	uint32_t level = node->depth - 1;
	double share = tui->graph.run_ns ? 100.0 * (double)tui->graph.weights[number] / (double)tui->graph.run_ns : 0;

	snprintf(percent, sizeof percent, "%.1f", share);
	snprintf(text, sizeof text, "%*s%s%s%s%.128s%s", (int)(2 * (level < INDENT_MAX ? level : INDENT_MAX)), "", mark,
		 node_name(node, buffer), moved ? "  [" : "", moved ? module : "", moved ? "]" : "");
	return ada_rows_add(table, (const struct ada_cell[COLUMNS]){ { .number = node->calls, .absent = outside },
								     { .number = node->total_ns, .absent = outside },
								     { .number = node->self_ns, .absent = outside },
								     { .text = percent },
								     { .text = text } });
}

int ada_tui_graph_draw(struct ada_tui *tui, int row, int rows)
{
	struct ada_tui_graph *graph = &tui->graph;
	struct ada_rows table;
	int result = get_ready(tui);

	if (!result)
		result = ada_sheet_begin(&tui->sheet);
	if (result)
		return result;
	ada_pane_fit(&graph->pane, graph->rows.count, (uint64_t)rows - 1);
	ada_rows_open(&table, &tui->sheet.output, ADA_FORMAT_TEXT, "rows", columns, COLUMNS);
	for (uint64_t i = graph->pane.top; i < graph->rows.count && i - graph->pane.top < graph->pane.height && !result; i++)
		result = put_node(tui, &table, graph->rows.items[i]);
	ada_rows_close(&table);
	result = result ?: ada_sheet_end(&tui->sheet);
	if (!result)
		ada_tui_put_sheet(tui, &graph->pane, row);
	return result;
}

/* --- keys ----------------------------------------------------------------------------------------------------------------- */

/* A function's node without its times, as callers are asked for. */
static void show_callers(struct ada_tui *tui)
{
	const struct ada_tree_node *node = &tui->sums.tree.nodes.items[chosen_node(tui)];

	if (!chosen_node(tui) || node->function_id == ADA_NO_FUNCTION)
		ada_error_set(&tui->message, ENOENT, "no function, so nobody calls it: choose a row with a name");
	else
		ada_callers_read(&tui->selection, &(struct ada_callee){ node->module, node->function_id, node->key }, &tui->message);
}

bool ada_tui_graph_key(struct ada_tui *tui, int key)
{
	uint32_t node = chosen_node(tui);

	if (get_ready(tui))
		return false;
	switch (key) {
	case ADA_KEY_ENTER:
		if (node && tui->sums.tree.nodes.items[node].first) {
			tui->graph.folded[node] = !tui->graph.folded[node];
			see(tui, node);
		}
		return true;
	case 'p':
		if (node && tui->sums.tree.nodes.items[node].parent)
			see(tui, tui->sums.tree.nodes.items[node].parent);
		else
			ada_error_set(&tui->message, ENOENT, "a root of the tree: no recorded function calls it here");
		return true;
	case 'c': show_callers(tui); return true;
	}
	return ada_pane_key(&tui->graph.pane, key);
}

/* All nodes are looked through, also those that are folded. */
bool ada_tui_graph_find(struct ada_tui *tui, bool backwards)
{
	const struct ada_tree *tree = &tui->sums.tree;
	uint32_t from = chosen_node(tui), found = 0;
	char buffer[ADA_NAME_BUFFER];
	bool behind = false;

	if (get_ready(tui))
		return false;
	for (uint32_t node = ada_tree_next(tree, 0); node; node = ada_tree_next(tree, node)) {
		if (node == from) {
			if (backwards && found)
				break;
			behind = true;
			continue;
		}
		if (!strcasestr(node_name(&tree->nodes.items[node], buffer), tui->search.text))
			continue;
		/* Forwards the first one behind; else, once round, the first or the last of all. */
		if (backwards || !found || behind)
			found = node;
		if (!backwards && behind)
			break;
	}
	if (found)
		unfold_above(tui, found);
	return found;
}

bool ada_tui_graph_show(struct ada_tui *tui, uint64_t key)
{
	const struct ada_tree *tree = &tui->sums.tree;

	if (get_ready(tui))
		return false;
	for (uint32_t node = ada_tree_next(tree, 0); node; node = ada_tree_next(tree, node))
		if (tree->nodes.items[node].key == key && tree->nodes.items[node].function_id != ADA_NO_FUNCTION) {
			unfold_above(tui, node);
			return true;
		}
	return false;
}

void ada_tui_graph_close(struct ada_tui *tui)
{
	free(tui->graph.folded);
	free(tui->graph.weights);
	ada_array_free(&tui->graph.rows);
}
