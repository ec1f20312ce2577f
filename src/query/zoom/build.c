/* The reading of a thread, and what it leaves of it. */
#include <errno.h>
#include "base/interrupt.h"
#include "query/session/stretch.h"
#include "query/zoom/internal.h"

#define PARTS 8u	    /* of a leaf, at most */
#define DEPTHS_NOTED 65536u /* calls below that depth are in no cell: a table of depths is as long as the deepest */

/* A call's two numbers in the room of a pointer: of its cell, and of the entry it has once a leaf has ended under it; each plus one. */
static void *numbers_join(uint32_t cell, uint32_t open)
{
	return (void *)(uintptr_t)((uint64_t)open << 32 | cell);
}

static uint32_t number_of_cell(const struct ada_call *call)
{
	return (uint32_t)(uintptr_t)call->user;
}

static uint32_t number_of_open(const struct ada_call *call)
{
	return (uint32_t)((uint64_t)(uintptr_t)call->user >> 32);
}

/* The part's cell of this call's depth, plus one; 0: it may have none. */
static uint32_t find_cell(struct ada_zoom_builder *builder, const struct ada_call *call)
{
	uint32_t depth = call->depth;
	struct ada_zoom_thread *zoomed = builder->zoomed;
	struct ada_zoom_place *place;

	if (depth >= DEPTHS_NOTED)
		return 0;
	while (builder->places.count <= depth)
		if (ada_array_push(&builder->places, (struct ada_zoom_place){})) {
			builder->status = -ENOMEM;
			return 0;
		}
	place = &builder->places.items[depth];
	if (place->part == builder->part.number)
		return place->cell + 1;
	if (zoomed->cells.count - builder->part.cell == ADA_ZOOM_DEPTHS || zoomed->cells.count >= ADA_ZOOM_NONE - 1)
		return 0;
	if (ada_array_push(&zoomed->cells, (struct ada_zoom_cell){ .start_ns = call->start_ns, .position = UINT64_MAX, .depth = depth })) {
		builder->status = -ENOMEM;
		return 0;
	}
	*place = (struct ada_zoom_place){ builder->part.number, (uint32_t)(zoomed->cells.count - 1) };
	builder->leaf->cells++;
	return place->cell + 1;
}

static void note_begun(void *context, struct ada_call *call)
{
	struct ada_zoom_builder *builder = context;
	unsigned int bit = ada_zoom_bit(call->function_id);
	uint32_t cell;

	if (!builder->leaf) /* it began before what is read ahead */
		return;
	cell = find_cell(builder, call);
	builder->leaf->functions[bit / 64] |= 1ull << bit % 64;
	builder->leaf->cut |= !cell;
	if (cell)
		builder->zoomed->cells.items[cell - 1].calls++;
	if (call->depth >= builder->zoomed->depths)
		builder->zoomed->depths = call->depth == UINT32_MAX ? call->depth : call->depth + 1;
	call->user = numbers_join(cell, 0);
}

static struct ada_zoom_open open_of(const struct ada_call *call, uint64_t end_ns)
{
	return (struct ada_zoom_open){ .start_ns = call->start_ns,
				       .end_ns = end_ns,
				       .position = call->position,
				       .function_id = call->function_id,
				       .depth = call->depth,
				       .caller = ADA_ZOOM_NONE };
}

static void note_ended(void *context, const struct ada_call *call)
{
	struct ada_zoom_builder *builder = context;
	struct ada_zoom_thread *zoomed = builder->zoomed;
	uint32_t number = number_of_cell(call), open = number_of_open(call);
	struct ada_zoom_cell *cell = number ? &zoomed->cells.items[number - 1] : NULL;
	uint64_t duration_ns;

	if (call->outcome == ADA_OUTCOME_UNKNOWN)
		return;
	duration_ns = ada_call_duration(call);
	if (open)
		zoomed->open.items[open - 1].end_ns = call->end_ns;
	else if (call->position < builder->first && call->aside && ada_array_push(&zoomed->strays, open_of(call, call->end_ns)))
		builder->status = -ENOMEM;
	if (!cell)
		return;
	cell->busy_ns += duration_ns;
	if (cell->position != UINT64_MAX &&
	    (duration_ns < cell->duration_ns || (duration_ns == cell->duration_ns && call->position > cell->position)))
		return;
	cell->start_ns = call->start_ns;
	cell->duration_ns = duration_ns;
	cell->position = call->position;
	cell->function_id = call->function_id;
}

/* Enters calls that are open where a leaf ends, from the outermost on: what has an entry lies at the stack's bottom, side by side. Gives
 * the number of the innermost one that has one. */
static uint32_t enter_open(struct ada_zoom_builder *builder)
{
	struct ada_zoom_thread *zoomed = builder->zoomed;
	struct ada_call *stack = builder->calls.stack.items;
	size_t count = builder->calls.stack.count, from = ada_first_not(i, 0, count, number_of_open(&stack[i]));
	uint32_t innermost = from ? number_of_open(&stack[from - 1]) - 1 : ADA_ZOOM_NONE;

	for (size_t i = from; i < count && i < from + ADA_ZOOM_OPEN_MAX && zoomed->open.count < ADA_ZOOM_NONE - 1; i++) {
		struct ada_zoom_open open = open_of(&stack[i], UINT64_MAX);

		open.caller = innermost;
		if (ada_array_push(&zoomed->open, open)) {
			builder->status = -ENOMEM;
			break;
		}
		innermost = (uint32_t)(zoomed->open.count - 1);
		stack[i].user = numbers_join(number_of_cell(&stack[i]), innermost + 1);
	}
	return innermost;
}

/* The leaf's widest part so far has the one that is being read. */
static void part_measure(struct ada_zoom_builder *builder)
{
	uint64_t part_ns = builder->leaf->last_ns - builder->part.first_ns;

	if (part_ns > builder->leaf->widest_ns)
		builder->leaf->widest_ns = part_ns;
}

static void part_begin(struct ada_zoom_builder *builder, uint64_t ns)
{
	builder->part.number++;
	builder->part.first_ns = ns;
	builder->part.cell = builder->zoomed->cells.count;
}

/* A leaf is cut where nothing happened for long, beside what its neighbour needed for as many events. Where every other leaf would be cut,
 * such leaves lie side by side, so that reading them costs little. */
static void part_split(struct ada_zoom_builder *builder, uint64_t ns)
{
	if (!builder->part.left || builder->part.splits > builder->zoomed->levels[0].nodes.count / 2 + 16)
		return;
	part_measure(builder);
	part_begin(builder, ns);
	builder->part.left--;
	builder->part.splits++;
}

static void leaf_begin(struct ada_zoom_builder *builder, const struct ada_event *event, uint64_t position)
{
	struct ada_zoom_level *leaves = &builder->zoomed->levels[0];
	struct ada_zoom_node node = { .first_ns = event->timestamp_ns,
				      .last_ns = event->timestamp_ns,
				      .before_loss_ns = builder->calls.after_loss ? builder->calls.before_loss_ns : 0,
				      .cell = builder->zoomed->cells.count };

	node.open = enter_open(builder);
	builder->part.gap_ns = UINT64_MAX;
	if (builder->leaf) {
		part_measure(builder);
		builder->part.gap_ns = builder->leaf->widest_ns / 4;
	}
	builder->part.left = PARTS - 1;
	part_begin(builder, event->timestamp_ns);
	builder->first = position;
	if (ada_array_push(&leaves->nodes, node))
		builder->status = -ENOMEM;
	else
		builder->leaf = &leaves->nodes.items[leaves->nodes.count - 1];
	builder->zoomed->level_count = leaves->nodes.count > 0;
}

static void note_loss(struct ada_zoom_builder *builder, const struct ada_event *event, uint64_t before_ns)
{
	struct ada_zoom_thread *zoomed = builder->zoomed;
	struct ada_zoom_loss *last = zoomed->losses.count ? &zoomed->losses.items[zoomed->losses.count - 1] : NULL;

	if (last && zoomed->losses.count == ADA_ZOOM_LOSSES) {
		last->events += event->function_id;
		last->to_ns = event->timestamp_ns;
	} else if (ada_array_push(&zoomed->losses,
				  (struct ada_zoom_loss){ before_ns ?: event->timestamp_ns, event->timestamp_ns, event->function_id })) {
		builder->status = -ENOMEM;
	}
}

void ada_zoom_read_open(struct ada_zoom_builder *builder)
{
	ada_calls_open(&builder->calls, &(struct ada_calls_receiver){ .context = builder, .begun = note_begun, .ended = note_ended });
}

void ada_zoom_read_stretch(struct ada_zoom_builder *builder, const struct ada_stretch *stretch)
{
	for (uint64_t i = 0; i < stretch->count && !builder->status; i++) {
		const struct ada_event *event = &stretch->events[i];
		uint64_t position = stretch->position + i;
		struct ada_call *call;

		if (position % ADA_ZOOM_LEAF == 0)
			leaf_begin(builder, event, position);
		if (builder->status)
			return;
		if (event->timestamp_ns - builder->leaf->last_ns > builder->part.gap_ns)
			part_split(builder, event->timestamp_ns);
		builder->leaf->last_ns = event->timestamp_ns;
		call = ada_zoom_feed_plain(&builder->calls, event, position);
		if (call && event->event_kind == ADA_EVENT_CALL)
			note_begun(builder, call);
		else if (call)
			note_ended(builder, call);
		if (call)
			continue;
		if (event->event_kind == ADA_EVENT_LOST)
			note_loss(builder, event, builder->calls.last_ns);
		else if (builder->calls.after_loss && builder->zoomed->losses.count)
			builder->zoomed->losses.items[builder->zoomed->losses.count - 1].to_ns = event->timestamp_ns;
		if (ada_calls_feed(&builder->calls, event, position))
			builder->status = -ENOMEM;
	}
	part_measure(builder); /* pictures are made between stretches */
}

/* What is open at the thread's end has ended there, and levels lie above the leaves. */
static int finish_thread(struct ada_zoom_builder *builder)
{
	struct ada_zoom_thread *zoomed = builder->zoomed;

	ada_calls_end(&builder->calls, ada_process_end_ns(zoomed->thread->process));
	ada_calls_close(&builder->calls);
	ada_array_free(&builder->places);
	if (!builder->status)
		builder->status = ada_zoom_levels(zoomed);
	zoomed->whole = true;
	return builder->status;
}

int ada_zoom_read(struct ada_zoom_thread *zoomed, bool finish, uint64_t until_ns, atomic_uint_least64_t *done, const atomic_int *others)
{
	struct ada_stretch stretch = { .thread = zoomed->thread, .next = zoomed->read, .to = zoomed->thread->count };
	struct ada_zoom_builder *builder = zoomed->builder;

	if (!zoomed->read)
		ada_zoom_read_open(builder);
	while (!builder->status && ada_stretch_next(&stretch)) {
		ada_zoom_enter(zoomed);
		ada_zoom_read_stretch(builder, &stretch);
		zoomed->read = stretch.next;
		zoomed->read_ns = builder->calls.last_ns;
		ada_zoom_leave(zoomed);
		atomic_fetch_add(done, stretch.count);
		if (ada_interrupted() || atomic_load(others))
			builder->status = -EINTR;
		if (until_ns && ada_zoom_is_late(until_ns))
			stretch.to = stretch.next;
	}
	if (!builder->status && finish && zoomed->read == zoomed->thread->count) {
		ada_zoom_enter(zoomed);
		finish_thread(builder);
		ada_zoom_leave(zoomed);
	}
	return builder->status;
}
