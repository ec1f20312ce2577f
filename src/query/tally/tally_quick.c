/* Counting events that each begin a call below the open one, or end that one.
 *
 * An open call needs little here, and keeps that in a frame of its own: the loop touches nothing else but the functions. The frames'
 * calls join the thread's stack when the quick events or the frames are used up: each at most once. Calls on that stack lie below all
 * frames, and end one by one.
 *
 * The frame at the bottom is no call's. Its `twice` lies between two depths: a deeper call may begin, but no end belongs to it.
 */
#include "query/tally/tally_internal.h"

#define FRAMES 4096 /* 160 KiB of stack, used as deep as calls go */

struct frame {
	uint64_t function_id, start_ns, children_ns;
	int64_t twice;	      /* the depth */
	uintptr_t remembered; /* as of ada_tally_remember; 0: it doesn't count */
};

static inline int64_t twice(const struct ada_event *event)
{
	return (int64_t)event->call_depth * 2;
}

/* Whether the next event ends the call, as for most: then it never becomes a frame. */
static inline bool is_leaf(const struct ada_event *event)
{
	return ada_tally_is_end(event + 1) && event[1].call_depth == event->call_depth && event[1].function_id == event->function_id;
}

static inline void count_leaf(struct ada_tally *tally, struct frame *below, const struct ada_event *event,
			      struct ada_function_stats *function)
{
	uint64_t duration_ns = event[1].timestamp_ns - event->timestamp_ns;

	below->children_ns += duration_ns;
	if (function)
		ada_tally_count(tally, (uintptr_t)function | !function->active, duration_ns, 0, false);
}

static inline void frame_begin(struct frame *frame, const struct ada_event *event, struct ada_function_stats *function)
{
	frame->function_id = event->function_id;
	frame->start_ns = event->timestamp_ns;
	frame->children_ns = 0;
	frame->twice = twice(event);
	frame->remembered = function ? ada_tally_remember(function) : 0;
}

static inline void frame_end(struct ada_tally *tally, struct frame *frame, const struct ada_event *event, bool counts)
{
	uint64_t duration_ns = event->timestamp_ns - frame->start_ns;

	frame[-1].children_ns += duration_ns;
	if (!counts)
		return;
	ada_tally_function(frame->remembered)->active--;
	ada_tally_count(tally, frame->remembered, duration_ns, frame->children_ns, false);
}

/* Returns the first event that is not quick, or that finds no frame left, or no memory. A loop of its own where `counts` is a constant. */
static inline __attribute__((always_inline)) const struct ada_event *read_frames(struct ada_tally *tally, struct frame *frames,
										 struct frame **top, const struct ada_event *event,
										 const struct ada_event *limit, bool counts)
{
	struct ada_function_stats *function = NULL;
	struct frame *frame = frames;

	for (; event < limit; event++) {
		if (event->event_kind == ADA_EVENT_CALL) {
			if (twice(event) <= frame->twice)
				break;
			if (counts)
				function = ada_tally_find(tally, event->function_id);
			if (counts && !function)
				break;
			if (event + 1 < limit && is_leaf(event))
				count_leaf(tally, frame, event++, function);
			else if (frame < frames + FRAMES - 1)
				frame_begin(++frame, event, function);
			else
				break;
		} else if (ada_tally_is_end(event) && twice(event) == frame->twice && frame->function_id == event->function_id) {
			frame_end(tally, frame--, event, counts);
		} else {
			break;
		}
	}
	*top = frame;
	return event;
}

/* Leaves out what nobody asks for here: caller and positions. */
static void join_frames(struct ada_tally *tally, const struct frame *frames, const struct frame *top, uint64_t *children_ns)
{
	struct ada_calls *calls = &tally->calls;

	if (calls->stack.count)
		calls->stack.items[calls->stack.count - 1].children_ns += frames->children_ns;
	else
		*children_ns += frames->children_ns;
	if (ada_array_reserve(&calls->stack, (size_t)(top - frames))) {
		tally->result = -ENOMEM;
		return;
	}
	for (const struct frame *frame = frames + 1; frame <= top; frame++)
		calls->stack.items[calls->stack.count++] = (struct ada_call){ .function_id = frame->function_id,
									      .start_ns = frame->start_ns,
									      .children_ns = frame->children_ns,
									      .losses = calls->losses,
									      .depth = (uint32_t)(frame->twice / 2),
									      .user = (void *)frame->remembered };
}

static bool end_older(struct ada_tally *tally, const struct ada_event *event, uint64_t *children_ns)
{
	if (!ada_tally_is_end(event) || !ada_tally_is_innermost(tally, event->call_depth, event->function_id))
		return false;
	ada_tally_end_innermost(tally, event->timestamp_ns, children_ns);
	return true;
}

static int64_t bottom_twice(const struct ada_calls *calls, int64_t floor)
{
	if (calls->stack.count)
		floor = calls->stack.items[calls->stack.count - 1].depth;
	return floor == INT64_MAX ? floor : floor * 2 + 1;
}

uint64_t ada_tally_quick(struct ada_tally *tally, int64_t floor, const struct ada_event *events, uint64_t count, uint64_t position,
			 uint64_t *children_ns)
{
	const struct ada_event *event = events, *limit = events + count, *from;
	struct ada_calls *calls = &tally->calls;
	struct frame frames[FRAMES], *top;

	if (calls->after_loss) /* nothing is quick then */
		return 0;
	do {
		frames[0] = (struct frame){ .twice = bottom_twice(calls, floor) };
		if (position < tally->to)
			event = read_frames(tally, frames, &top, event, limit, true);
		else
			event = read_frames(tally, frames, &top, event, limit, false);
		join_frames(tally, frames, top, children_ns);
		from = event;
		while (event < limit && end_older(tally, event, children_ns))
			event++;
	} while ((event != from || top == frames + FRAMES - 1) && event < limit && !tally->result);
	if (event != events)
		calls->last_ns = event[-1].timestamp_ns;
	return (uint64_t)(event - events);
}
