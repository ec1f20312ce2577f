/* The levels above the leaves: eight nodes are one of the next. */
#include <errno.h>
#include <stdlib.h>
#include "query/zoom/internal.h"

static int compare_cells(const void *left, const void *right)
{
	const struct ada_zoom_cell *a = left, *b = right;

	return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static int compare_strays(const void *left, const void *right)
{
	const struct ada_zoom_open *a = left, *b = right;

	return a->position < b->position ? -1 : a->position > b->position;
}

/* Appends to the level above a node of these, which lie side by side, and so do their cells. */
static int join_nodes(struct ada_zoom_thread *zoomed, struct ada_zoom_level *above, const struct ada_zoom_node *nodes, size_t count)
{
	struct ada_zoom_node node = nodes[0];
	size_t begin = zoomed->cells.count, end = nodes[count - 1].cell + nodes[count - 1].cells, kept = begin;
	struct ada_zoom_cell *cells;

	if (ada_array_reserve(&zoomed->cells, end - nodes[0].cell))
		return -ENOMEM;
	cells = zoomed->cells.items;
	memcpy(cells + begin, cells + nodes[0].cell, (end - nodes[0].cell) * sizeof *cells);
	end = begin + end - nodes[0].cell;
	qsort(cells + begin, end - begin, sizeof *cells, compare_cells);
	for (size_t i = begin; i < end; i++) {
		if (kept > begin && cells[kept - 1].depth == cells[i].depth)
			ada_zoom_cell_add(&cells[kept - 1], &cells[i]);
		else
			cells[kept++] = cells[i];
	}
	zoomed->cells.count = kept;
	node.cell = begin;
	node.cells = (uint32_t)(kept - begin);
	node.last_ns = nodes[count - 1].last_ns;
	for (size_t i = 1; i < count; i++) {
		node.cut |= nodes[i].cut;
		for (int j = 0; j < 4; j++)
			node.functions[j] |= nodes[i].functions[j];
	}
	return ada_array_push(&above->nodes, node);
}

int ada_zoom_levels(struct ada_zoom_thread *zoomed)
{
	int status = 0;

	if (zoomed->strays.count)
		qsort(zoomed->strays.items, zoomed->strays.count, sizeof *zoomed->strays.items, compare_strays);
	zoomed->level_count = zoomed->levels[0].nodes.count > 0;
	while (!status && zoomed->level_count && zoomed->level_count < ADA_ZOOM_LEVELS &&
	       zoomed->levels[zoomed->level_count - 1].nodes.count > 1) {
		const struct ada_zoom_level *below = &zoomed->levels[zoomed->level_count - 1];

		for (size_t i = 0; i < below->nodes.count && !status; i += ADA_ZOOM_FAN) {
			size_t left = below->nodes.count - i;

			status = join_nodes(zoomed, &zoomed->levels[zoomed->level_count], &below->nodes.items[i],
					    left < ADA_ZOOM_FAN ? left : ADA_ZOOM_FAN);
		}
		zoomed->level_count++;
	}
	return status;
}
