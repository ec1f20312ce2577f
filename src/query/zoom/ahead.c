/* What is looked at is read before its turn: parts of a thread with leaves of their own, each read from some leaf on by the rules of calls.h.
 *
 * The index finds the events of a time, so a part can begin anywhere. Which calls are open there a packed file says itself; else events are
 * read back for it, but no further than LOOK_BACK: outer calls that began earlier are missing until the reading in turn comes there. What
 * was read in turn draws, and parts draw what lies behind it; a part that has been passed whole is forgotten.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "query/calls/stack.h"
#include "query/session/stretch.h"
#include "query/zoom/internal.h"

#define LOOK_BACK (1u << 17) /* events: 4 MiB */
#define WHOLE 4u	     /* leaves for each sample that are read in their order */
#define FIRST_SAMPLES 32u    /* that lie evenly, before there are more between them */
#define SPARSE 8u	     /* times as many leaves are soon read in their order */
#define KEPT 4u		     /* times the samples: more parts than that aren't kept */

bool ada_zoom_is_late(uint64_t until_ns)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec >= until_ns;
}

/* How many parts begin at the position or before. */
static size_t parts_until(const struct ada_zoom_thread *thread, uint64_t position)
{
	return ada_first_not(i, 0, thread->ahead.count, thread->ahead.items[i]->first <= position);
}

const struct ada_zoom_thread *ada_zoom_part(const struct ada_zoom_thread *thread, uint64_t position)
{
	size_t number = position >= thread->read ? parts_until(thread, position) : 0;
	const struct ada_zoom_thread *part = number ? thread->ahead.items[number - 1] : NULL;

	return part && position < part->read ? part : thread;
}

uint64_t ada_zoom_ahead_events(const struct ada_zoom_thread *thread, uint64_t from, uint64_t to)
{
	size_t number = parts_until(thread, from);
	uint64_t events = 0;

	for (size_t i = number ? number - 1 : 0; i < thread->ahead.count && thread->ahead.items[i]->first < to; i++) {
		const struct ada_zoom_thread *part = thread->ahead.items[i];
		uint64_t first = part->first > from ? part->first : from, end = part->read < to ? part->read : to;

		events += end > first ? end - first : 0;
	}
	return events;
}

uint32_t ada_zoom_depths(const struct ada_zoom_thread *thread)
{
	uint32_t depths = thread->depths;

	for (size_t i = 0; i < thread->ahead.count; i++)
		depths = thread->ahead.items[i]->depths > depths ? thread->ahead.items[i]->depths : depths;
	return depths;
}

/* Parts from <= number < to. */
static void parts_forget(struct ada_zoom_thread *zoomed, size_t from, size_t to)
{
	struct ada_zoom_thread **items = zoomed->ahead.items;

	if (from >= to)
		return;
	for (size_t i = from; i < to; i++) {
		ada_zoom_thread_close(items[i]);
		free(items[i]);
	}
	memmove(items + from, items + to, (zoomed->ahead.count - to) * sizeof *items);
	zoomed->ahead.count -= to - from;
}

/* Those that lie before what was read in turn. */
static void parts_forget_passed(struct ada_zoom_thread *zoomed)
{
	size_t passed = 0;

	while (passed < zoomed->ahead.count && (zoomed->whole || zoomed->ahead.items[passed]->read <= zoomed->read))
		passed++;
	parts_forget(zoomed, 0, passed);
}

/* --- a part -------------------------------------------------------------------------------------------------------------- */

/* The calls that are open where the part begins, as far as that costs little. */
static int find_open(struct ada_stack *stack, const struct ada_zoom_thread *part, bool look_back)
{
	const struct ada_frame *frame;
	struct ada_lookback back;
	int status = ada_stack_packed(stack, part->thread, part->first);

	if (status != -EINVAL)
		return status;
	*stack = (struct ada_stack){};
	if (!look_back || !part->first)
		return 0;
	ada_lookback_open(&back, part->thread, part->first);
	back.floor = part->first > LOOK_BACK ? part->first - LOOK_BACK : 0;
	status = ada_lookback_get(&back, SIZE_MAX - 1, &frame);
	stack->after_loss = back.after_loss;
	for (size_t i = back.frames.count; i-- > 0 && !status;)
		status = ada_array_push(&stack->frames, back.frames.items[i]);
	ada_lookback_close(&back);
	return status;
}

/* Inserts an empty part behind the first `number`; NULL: no memory. */
static struct ada_zoom_thread *part_begin(struct ada_zoom_thread *zoomed, size_t number, uint64_t first, bool look_back)
{
	struct ada_zoom_thread *part = calloc(1, sizeof *part), **items;
	struct ada_stack stack = {};

	if (!part || ada_zoom_thread_open(part, zoomed->thread) || ada_array_reserve(&zoomed->ahead, 1))
		goto failed;
	part->first = part->read = first;
	ada_zoom_read_open(part->builder);
	if (find_open(&stack, part, look_back) || ada_stack_seed(&stack, &part->builder->calls))
		goto failed;
	ada_stack_close(&stack);
	items = zoomed->ahead.items;
	memmove(items + number + 1, items + number, (zoomed->ahead.count - number) * sizeof *items);
	items[number] = part;
	zoomed->ahead.count++;
	return part;
failed:
	ada_stack_close(&stack);
	if (part)
		ada_zoom_thread_close(part);
	free(part);
	return NULL;
}

/* Reads on up to `to`, and even if it is late some of it that the reading in turn, which stands at `behind`, doesn't have. */
static int part_read(struct ada_zoom_thread *part, uint64_t behind, uint64_t to, uint64_t until_ns)
{
	struct ada_stretch stretch = { .thread = part->thread, .next = part->read, .to = to };
	struct ada_zoom_builder *builder = part->builder;

	while (!builder->status && ada_stretch_next(&stretch)) {
		ada_zoom_read_stretch(builder, &stretch);
		part->read = stretch.next;
		part->read_ns = builder->calls.last_ns;
		if (part->read > behind && ada_zoom_is_late(until_ns))
			stretch.to = stretch.next;
	}
	return builder->status;
}

/* --- a view -------------------------------------------------------------------------------------------------------------- */

/* One leaf, unless a part has it. */
static int read_sample(struct ada_zoom_thread *zoomed, uint64_t first, uint64_t until_ns)
{
	uint64_t count = zoomed->thread->count, to = first + ADA_ZOOM_LEAF < count ? first + ADA_ZOOM_LEAF : count;
	size_t number = parts_until(zoomed, first);
	struct ada_zoom_thread *part = number ? zoomed->ahead.items[number - 1] : NULL;

	if (part && part->read > first)
		return 0;
	part = part_begin(zoomed, number, first, false);
	return part ? part_read(part, zoomed->read, to, until_ns) : -ENOMEM;
}

/* Leaves that lie evenly, at least `least` from each other, the newest first, then those between them. They lie where those of other views
 * lie, too. */
static int read_some(struct ada_zoom_thread *zoomed, uint64_t first, uint64_t last, uint64_t least, uint64_t until_ns)
{
	uint64_t step = least;
	int status = read_sample(zoomed, last * ADA_ZOOM_LEAF, until_ns);

	while (step < (last - first) / FIRST_SAMPLES)
		step *= 2;
	for (; step >= least && step; step /= 2)
		for (uint64_t leaf = last / step * step; leaf > first && !status; leaf -= step) {
			if (ada_zoom_is_late(until_ns))
				return 0;
			status = read_sample(zoomed, leaf * ADA_ZOOM_LEAF, until_ns);
		}
	return status;
}

/* All of it, in its order. Parts that lie in the way are read once more, so that calls that reach into them are whole. */
static int read_whole(struct ada_zoom_thread *zoomed, uint64_t first, uint64_t to, uint64_t until_ns)
{
	size_t number = parts_until(zoomed, first);
	struct ada_zoom_thread *part = number ? zoomed->ahead.items[number - 1] : NULL;
	int status = 0;

	if (!part || part->read < first)
		part = part_begin(zoomed, number++, first, true);
	if (!part)
		return -ENOMEM;
	do {
		uint64_t end = number < zoomed->ahead.count ? zoomed->ahead.items[number]->first : to;

		if (part->read >= to)
			break;
		if (end <= part->read)
			parts_forget(zoomed, number, number + 1);
		else
			status = part_read(part, zoomed->read, end < to ? end : to, until_ns);
	} while (!status && !ada_zoom_is_late(until_ns));
	return status;
}

int ada_zoom_ahead(struct ada_zoom_thread *zoomed, const struct ada_zoom_view *view, uint32_t samples, uint64_t until_ns)
{
	const struct atf_thread *events = zoomed->thread->events;
	uint64_t from, to, first, last, least = 1;
	int status = 0;

	parts_forget_passed(zoomed);
	if (!events || zoomed->whole || view->to_ns <= view->from_ns || zoomed->read >= zoomed->thread->count)
		return 0;
	from = atf_thread_lower_bound(events, view->from_ns);
	to = atf_thread_lower_bound(events, view->to_ns);
	from = from > zoomed->read ? from : zoomed->read;
	to = to < zoomed->thread->count ? to : zoomed->thread->count;
	if (from >= to)
		return 0;
	if (zoomed->ahead.count > (size_t)samples * KEPT) {
		parts_forget(zoomed, parts_until(zoomed, to), zoomed->ahead.count);
		parts_forget(zoomed, 0, parts_until(zoomed, from));
	}
	first = from / ADA_ZOOM_LEAF;
	last = (to - 1) / ADA_ZOOM_LEAF;
	while (least < (last - first) / samples)
		least *= 2;
	if (last - first >= (uint64_t)samples * WHOLE)
		return read_some(zoomed, first, last, least, until_ns);
	/* Until that comes to an end, there is something everywhere. */
	if (last - first > SPARSE * FIRST_SAMPLES)
		status = read_some(zoomed, first, last, (last - first) / FIRST_SAMPLES, until_ns);
	return status ?: read_whole(zoomed, first * ADA_ZOOM_LEAF, to, until_ns);
}
