/* Pictures: down from the top as far as a pixel asks for it. */
#include <errno.h>
#include <stdlib.h>
#include "query/zoom/internal.h"

#define RELEASED 32u /* leaves at once: 2 MiB */

struct drawing {
	struct ada_zoom_picture *picture;
	const struct ada_zoom_thread *thread;
	uint64_t first;	      /* position: of the leaf that is read */
	bool shared;	      /* others read the leaf's events before that */
	size_t unreleased[2]; /* leaves that were read since the last release: from and to */
	int status;
};

/* A picture has as many rows as are needed so far. */
static struct ada_zoom_cell *cell_at(struct drawing *drawing, uint32_t depth, uint32_t column)
{
	struct ada_zoom_picture *picture = drawing->picture;
	size_t columns = picture->view.columns;

	if (depth >= picture->view.depths)
		return NULL;
	if (depth >= picture->depths) {
		uint32_t rows = depth + 1 + depth / 2 < picture->view.depths ? depth + 1 + depth / 2 : picture->view.depths;
		struct ada_zoom_cell *cells = realloc(picture->cells, rows * columns * sizeof *cells);

		if (!cells) {
			drawing->status = -ENOMEM;
			return NULL;
		}
		memset(cells + picture->depths * columns, 0, (rows - picture->depths) * columns * sizeof *cells);
		picture->cells = cells;
		picture->depths = rows;
	}
	return &picture->cells[depth * columns + column];
}

static void draw_cell(struct drawing *drawing, uint32_t column, const struct ada_zoom_cell *from)
{
	struct ada_zoom_cell *cell = cell_at(drawing, from->depth, column);

	if (cell)
		ada_zoom_cell_add(cell, from);
}

/* Calls that are open where the view begins. Those on one stack come innermost first. */
static void note_before(void *context, const struct ada_call *call)
{
	struct drawing *drawing = context;
	struct ada_zoom_picture *picture = drawing->picture;

	if (call->start_ns >= picture->view.from_ns || call->end_ns == UINT64_MAX || call->end_ns < picture->view.from_ns ||
	    call->depth >= picture->view.depths)
		return;
	if (ada_array_push(&picture->before, (struct ada_zoom_open){ .start_ns = call->start_ns,
								     .end_ns = call->end_ns,
								     .position = call->position,
								     .function_id = call->function_id,
								     .depth = call->depth,
								     .caller = ADA_ZOOM_NONE }))
		drawing->status = -ENOMEM;
}

/* A call whose end is known since its leaf was noted, or not known yet: it lasts until end_ns, at least. */
static void draw_longer(struct drawing *drawing, const struct ada_call *call)
{
	const struct ada_zoom_view *view = &drawing->picture->view;
	struct ada_zoom_cell *cell;

	if (call->start_ns < view->from_ns) {
		note_before(drawing, call);
		return;
	}
	cell = call->start_ns < view->to_ns ? cell_at(drawing, call->depth, ada_zoom_column(view, call->start_ns)) : NULL;
	if (!cell || (cell->position != UINT64_MAX && cell->duration_ns >= call->end_ns - call->start_ns))
		return;
	cell->start_ns = call->start_ns;
	cell->duration_ns = call->end_ns - call->start_ns;
	cell->position = call->position;
	cell->function_id = call->function_id;
	cell->depth = call->depth;
	cell->calls += !cell->calls; /* it was counted where it began, but below the deepest that a leaf notes */
}

/* A call that a leaf's reading tells: one that was open before belongs to the leaf in which it began, or, where others read up to the middle
 * of this leaf, to them, who don't know its end. */
static void draw_call(void *context, const struct ada_call *call)
{
	struct drawing *drawing = context;
	const struct ada_zoom_view *view = &drawing->picture->view;
	bool known = call->end_ns != UINT64_MAX;
	struct ada_zoom_cell cell = {
		.start_ns = call->start_ns, .position = UINT64_MAX, .function_id = call->function_id, .depth = call->depth, .calls = 1
	};

	if (call->position < drawing->first && drawing->shared && known)
		draw_longer(drawing, call);
	if (call->position < drawing->first || call->start_ns < view->from_ns || call->start_ns >= view->to_ns ||
	    call->depth >= view->depths)
		return;
	if (known) {
		cell.position = call->position;
		cell.duration_ns = cell.busy_ns = ada_call_duration(call);
	}
	draw_cell(drawing, ada_zoom_column(view, call->start_ns), &cell);
}

/* Giving pages back costs as much as reading some leaves. */
static void release_leaves(struct drawing *drawing, size_t next)
{
	size_t from = drawing->unreleased[0], to = drawing->unreleased[1];

	if (from < to && (next >= from + RELEASED || next < from)) {
		ada_zoom_leaf_release(drawing->thread, from, to);
		from = to = 0;
	}
	drawing->unreleased[0] = from < to ? from : next;
	drawing->unreleased[1] = next + 1;
}

static void release_rest(struct drawing *drawing)
{
	if (drawing->unreleased[1])
		ada_zoom_leaf_release(drawing->thread, drawing->unreleased[0], drawing->unreleased[1]);
	drawing->unreleased[0] = drawing->unreleased[1] = 0;
}

/* Its calls from the event at `first` on: its first one, or where others stopped. */
static void draw_leaf(struct drawing *drawing, size_t leaf, uint64_t first)
{
	struct ada_zoom_reader reader = { .context = drawing, .ended = draw_call };
	int status;

	drawing->first = first;
	drawing->shared = first > ada_zoom_leaf_first(drawing->thread, leaf);
	drawing->picture->leaves++;
	release_leaves(drawing, leaf);
	status = ada_zoom_leaf_read(drawing->thread, leaf, &reader);
	if (!drawing->status)
		drawing->status = status;
}

static uint64_t column_width(const struct ada_zoom_view *view)
{
	return (view->to_ns - view->from_ns) / view->columns + 1;
}

static bool is_outside(const struct ada_zoom_view *view, const struct ada_zoom_node *node)
{
	return node->last_ns < view->from_ns || node->first_ns >= view->to_ns;
}

/* Its cells are what is drawn of the node: nothing below it is looked at. */
static bool is_small(const struct ada_zoom_view *view, const struct ada_zoom_node *node, unsigned int level)
{
	if (node->first_ns < view->from_ns || node->last_ns >= view->to_ns)
		return false;
	return (!level && node->widest_ns < column_width(view)) ||
	       ada_zoom_column(view, node->first_ns) == ada_zoom_column(view, node->last_ns);
}

/* Leaves that a picture reads below this node; counting ends soon above `most`. */
static uint64_t count_leaves(const struct ada_zoom_thread *thread, const struct ada_zoom_view *view, unsigned int level, size_t number,
			     uint64_t most)
{
	const struct ada_zoom_node *node = &thread->levels[level].nodes.items[number];
	uint64_t count = 0;

	if (is_outside(view, node) || is_small(view, node, level))
		return 0;
	if (!level)
		return 1;
	for (size_t i = number * ADA_ZOOM_FAN; i < (number + 1) * ADA_ZOOM_FAN && i < thread->levels[level - 1].nodes.count; i++) {
		count += count_leaves(thread, view, level - 1, i, most);
		if (count > most)
			break;
	}
	return count;
}

uint32_t ada_zoom_coarse(const struct ada_zoom_thread *thread, const struct ada_zoom_view *asked, uint64_t leaves)
{
	struct ada_zoom_view view = *asked;
	unsigned int top = thread->level_count;
	uint32_t coarse = 1;

	if (view.to_ns <= view.from_ns)
		return 1;
	for (; coarse < ADA_ZOOM_COARSEST && view.columns > 1; coarse *= 2) {
		uint64_t count = 0;

		view.columns = (asked->columns + coarse - 1) / coarse;
		for (size_t i = 0; top && i < thread->levels[top - 1].nodes.count && count <= leaves; i++)
			count += count_leaves(thread, &view, top - 1, i, leaves);
		for (size_t i = 0; i < thread->ahead.count && count <= leaves; i++)
			for (size_t leaf = 0; leaf < thread->ahead.items[i]->levels[0].nodes.count && count <= leaves; leaf++)
				count += count_leaves(thread->ahead.items[i], &view, 0, leaf, leaves);
		if (count <= leaves)
			break;
	}
	return coarse;
}

static void draw_node(struct drawing *drawing, unsigned int level, size_t number)
{
	const struct ada_zoom_level *below = level ? &drawing->thread->levels[level - 1] : NULL;
	const struct ada_zoom_node *node = &drawing->thread->levels[level].nodes.items[number];
	const struct ada_zoom_view *view = &drawing->picture->view;

	if (drawing->status || is_outside(view, node))
		return;
	if (is_small(view, node, level)) {
		drawing->picture->cut |= node->cut;
		for (uint32_t i = 0; i < node->cells; i++) {
			const struct ada_zoom_cell *cell = &drawing->thread->cells.items[node->cell + i];

			draw_cell(drawing, ada_zoom_column(view, cell->start_ns), cell);
		}
		return;
	}
	if (!level)
		draw_leaf(drawing, number, ada_zoom_leaf_first(drawing->thread, number));
	for (size_t i = 0; below && i < ADA_ZOOM_FAN && number * ADA_ZOOM_FAN + i < below->nodes.count; i++)
		draw_node(drawing, level - 1, number * ADA_ZOOM_FAN + i);
}

static int compare_before(const void *left, const void *right)
{
	const struct ada_zoom_open *a = left, *b = right;

	return a->position < b->position ? -1 : a->position > b->position;
}

/* What lies before `behind` is left to others. */
static void find_before(struct drawing *drawing, uint64_t behind)
{
	struct ada_zoom_picture *picture = drawing->picture;
	struct ada_zoom_reader reader = { .context = drawing, .ended = note_before };
	uint64_t position = atf_thread_lower_bound(drawing->thread->thread->events, picture->view.from_ns);

	size_t leaf;

	if (!position || position < behind || position < drawing->thread->first || position >= drawing->thread->read)
		return;
	leaf = ada_zoom_leaf_at(drawing->thread, position);
	/* Of a leaf's first event the leaf itself says what is open there. */
	release_leaves(drawing, leaf);
	drawing->status = ada_zoom_leaf_read(drawing->thread, leaf, &reader);
}

/* Until when the calls last, at least, that are open where the reading stands: where that is the end, until the process's, or until now. */
static uint64_t open_until(const struct ada_zoom_thread *thread)
{
	uint64_t end_ns = thread->read == thread->thread->count ? ada_process_end_ns(thread->thread->process) : 0;

	return end_ns > thread->read_ns ? end_ns : thread->read_ns;
}

static void draw_open(struct drawing *drawing)
{
	const struct ada_zoom_thread *thread = drawing->thread;
	uint64_t until_ns = thread->builder->calls.stack.count ? open_until(thread) : 0;

	for (size_t i = 0; i < thread->builder->calls.stack.count && !drawing->status; i++) {
		struct ada_call call = thread->builder->calls.stack.items[i];

		call.end_ns = until_ns;
		draw_longer(drawing, &call);
	}
}

/* Calls that are open where a leaf of a part begins, and ended in that part. */
static void draw_carried(struct drawing *drawing, size_t leaf)
{
	const struct ada_zoom_thread *part = drawing->thread;

	for (uint32_t number = part->levels[0].nodes.items[leaf].open; number != ADA_ZOOM_NONE; number = part->open.items[number].caller) {
		const struct ada_zoom_open *open = &part->open.items[number];

		if (open->end_ns != UINT64_MAX)
			draw_longer(drawing, &(struct ada_call){ .start_ns = open->start_ns,
								 .end_ns = open->end_ns,
								 .position = open->position,
								 .function_id = open->function_id,
								 .depth = open->depth });
	}
}

/* What the part has behind the event at `behind`, up to which all was read in turn. */
static void draw_part(struct drawing *drawing, const struct ada_zoom_thread *part, uint64_t behind)
{
	const struct ada_zoom_level *leaves = &part->levels[0];
	size_t leaf = behind > part->first ? ada_zoom_leaf_at(part, behind) : 0;

	drawing->thread = part;
	if (leaf >= leaves->nodes.count || leaves->nodes.items[leaves->nodes.count - 1].last_ns < drawing->picture->view.from_ns ||
	    leaves->nodes.items[0].first_ns >= drawing->picture->view.to_ns)
		return;
	find_before(drawing, behind);
	if (ada_zoom_leaf_first(part, leaf) < behind)
		draw_leaf(drawing, leaf++, behind);
	else
		draw_carried(drawing, leaf);
	for (; leaf < leaves->nodes.count; leaf++)
		draw_node(drawing, 0, leaf);
	draw_open(drawing);
	release_rest(drawing);
}

/* A call that is open where the reading stands and in a part that was read ahead is one call: that part knows longer of it. */
static void join_before(struct ada_zoom_picture *picture)
{
	struct ada_zoom_open *items = picture->before.items;
	size_t kept = 0;

	if (picture->before.count)
		qsort(items, picture->before.count, sizeof *items, compare_before);
	for (size_t i = 0; i < picture->before.count; i++) {
		if (!kept || items[kept - 1].position != items[i].position)
			items[kept++] = items[i];
		else if (items[kept - 1].end_ns < items[i].end_ns)
			items[kept - 1].end_ns = items[i].end_ns;
	}
	picture->before.count = kept;
}

int ada_zoom_draw(struct ada_zoom_picture *picture, const struct ada_zoom_thread *thread, const struct ada_zoom_view *view)
{
	struct drawing drawing = { .picture = picture, .thread = thread };
	unsigned int top = thread->level_count;

	*picture = (struct ada_zoom_picture){ .view = *view };
	if (view->to_ns <= view->from_ns)
		return 0;
	if (top) {
		find_before(&drawing, 0);
		for (size_t i = 0; i < thread->levels[top - 1].nodes.count; i++)
			draw_node(&drawing, top - 1, i);
		draw_open(&drawing);
		release_rest(&drawing);
	}
	for (size_t i = 0; i < thread->ahead.count && !drawing.status; i++)
		draw_part(&drawing, thread->ahead.items[i], thread->read);
	join_before(picture);
	return drawing.status;
}

void ada_zoom_picture_free(struct ada_zoom_picture *picture)
{
	free(picture->cells);
	ada_array_free(&picture->before);
}
