/* A thread's open calls from block to block: as ada_calls (query/calls/calls.h) pairs calls with their ends.
 *
 * While a block is encoded the lane moves on; to come back, it keeps what it changes. Frames below undo.low - 1 are as they were; the one
 * at undo.low - 1 was innermost at some time, so that its children_ns may have changed.
 */
#include "atf/pack/packer.h"

#include <errno.h>

void atf_pack_lane_open(struct atf_pack_lane *lane, uint32_t thread_id)
{
	*lane = (struct atf_pack_lane){ .thread_id = thread_id };
}

void atf_pack_lane_close(struct atf_pack_lane *lane)
{
	ada_array_free(&lane->frames);
	ada_array_free(&lane->undo.frames);
}

void atf_pack_lane_segment(struct atf_pack_lane *lane)
{
	lane->first_seq = 0;
	lane->blocks = 0;
}

/* --- there and back ----------------------------------------------------------------------------------------------------- */

static int save_top(struct atf_pack_lane *lane)
{
	if (!lane->undo.low)
		return 0;
	return ada_array_push(&lane->undo.frames, lane->frames.items[lane->undo.low - 1]);
}

void atf_pack_accept(struct atf_pack_lane *lane)
{
	lane->position += lane->undo.event_count;
	lane->first_seq += lane->undo.event_count;
	lane->kept_count = lane->undo.low;
	lane->blocks = (lane->blocks + 1) % ATF_PACK_WHOLE_EVERY;
	lane->undo.event_count = 0;
	lane->undo.frames.count = 0;
}

int atf_pack_undo_begin(struct atf_pack_lane *lane)
{
	struct atf_pack_undo *undo = &lane->undo;

	undo->frames.count = 0;
	undo->count = lane->frames.count;
	undo->low = (uint32_t)lane->frames.count;
	undo->last_ns = lane->last_ns;
	undo->before_loss_ns = lane->before_loss_ns;
	undo->after_loss = lane->after_loss;
	undo->event_count = 0;
	return save_top(lane);
}

int atf_pack_undo_lower(struct atf_pack_lane *lane, size_t count)
{
	while (lane->undo.low > count) {
		lane->undo.low--;
		if (save_top(lane))
			return -ENOMEM;
	}
	return 0;
}

void atf_pack_undo(struct atf_pack_lane *lane)
{
	struct atf_pack_undo *undo = &lane->undo;

	for (size_t i = 0; i < undo->frames.count; i++)
		lane->frames.items[undo->count - 1 - i] = undo->frames.items[i];
	lane->frames.count = undo->count;
	lane->last_ns = undo->last_ns;
	lane->before_loss_ns = undo->before_loss_ns;
	lane->after_loss = undo->after_loss;
	undo->frames.count = 0;
}

/* --- an event ----------------------------------------------------------------------------------------------------------- */

static struct atf_pack_frame *top_of(struct atf_pack_lane *lane)
{
	return &lane->frames.items[lane->frames.count - 1];
}

/* The calls above the first `left` have left without a word. */
static int set_aside(struct atf_pack_lane *lane, size_t left)
{
	int status = atf_pack_undo_lower(lane, left);

	while (!status && lane->frames.count > left) {
		uint64_t ns = lane->before_loss_ns - top_of(lane)->start_ns;

		if (--lane->frames.count && lane->after_loss)
			top_of(lane)->children_ns += ns;
	}
	return status;
}

/* The time of a gap counts like a call below the innermost call that is still open. */
static void take_gap(struct atf_pack_lane *lane, const struct ada_event *event)
{
	if (lane->after_loss && lane->frames.count)
		top_of(lane)->children_ns += event->timestamp_ns - lane->before_loss_ns;
}

size_t atf_pack_lane_below(const struct atf_pack_lane *lane, uint32_t depth)
{
	size_t left = lane->frames.count;

	while (left && lane->frames.items[left - 1].depth >= depth)
		left--;
	return left;
}

bool atf_pack_lane_finds(const struct atf_pack_lane *lane, const struct ada_event *event, size_t *left)
{
	const struct atf_pack_frame *frame;

	*left = atf_pack_lane_below(lane, event->call_depth);
	if (*left == lane->frames.count)
		return false;
	frame = &lane->frames.items[*left];
	return frame->depth == event->call_depth && frame->function_id == event->function_id;
}

static int feed_call(struct atf_pack_lane *lane, const struct ada_event *event, uint64_t at)
{
	int status = set_aside(lane, atf_pack_lane_below(lane, event->call_depth));

	if (status)
		return status;
	take_gap(lane, event);
	if (event->call_depth == UINT32_MAX) /* no call is that deep, and none could lie below it */
		return 0;
	return ada_array_push(&lane->frames, ((struct atf_pack_frame){ .function_id = event->function_id,
								       .start_ns = event->timestamp_ns,
								       .position = lane->position + at,
								       .depth = event->call_depth }));
}

static int feed_end(struct atf_pack_lane *lane, const struct ada_event *event)
{
	size_t left;
	int status;

	if (!atf_pack_lane_finds(lane, event, &left)) {
		/* After a loss this is the end of a call that took the place of those that were open. */
		status = lane->after_loss ? set_aside(lane, left) : 0;
		if (!status)
			take_gap(lane, event);
		return status;
	}
	status = set_aside(lane, left + 1);
	if (!status)
		status = atf_pack_undo_lower(lane, left);
	if (status)
		return status;
	take_gap(lane, event);
	lane->frames.count = left;
	if (left)
		lane->frames.items[left - 1].children_ns += event->timestamp_ns - lane->frames.items[left].start_ns;
	return 0;
}

/* Whatever is open now may be another call of the same function by the time when its end arrives. */
static int feed_loss(struct atf_pack_lane *lane)
{
	size_t first = lane->frames.count;
	int status;

	while (first && !lane->frames.items[first - 1].across_loss)
		first--;
	status = atf_pack_undo_lower(lane, first);
	for (size_t i = first; !status && i < lane->frames.count; i++)
		lane->frames.items[i].across_loss = true;
	if (!lane->after_loss)
		lane->before_loss_ns = lane->last_ns;
	return status;
}

int atf_pack_lane_feed(struct atf_pack_lane *lane, const struct ada_event *event, uint64_t at)
{
	int status = 0;

	switch (event->event_kind) {
	case ADA_EVENT_CALL: status = feed_call(lane, event, at); break;
	case ADA_EVENT_RETURN:
	case ADA_EVENT_EXCEPTION: status = feed_end(lane, event); break;
	case ADA_EVENT_LOST: status = feed_loss(lane); break;
	default: return 0;
	}
	lane->last_ns = event->timestamp_ns;
	lane->after_loss = event->event_kind == ADA_EVENT_LOST;
	return status;
}

/* Plain calls and ends (encode.c) from `at` on, up to the first event that is none. As atf_pack_lane_feed, faster. */
static uint32_t skip_plain(struct atf_pack_lane *lane, const struct ada_event *events, uint32_t at, uint32_t count)
{
	struct atf_pack_frame *frames = lane->frames.items;
	size_t open = lane->frames.count;
	uint32_t depth = open ? frames[open - 1].depth + 1 : 0;

	for (; at < count; at++) {
		const struct ada_event *event = &events[at];

		if (event->event_kind == ADA_EVENT_CALL && event->call_depth == depth && open < lane->frames.capacity) {
			frames[open++] = (struct atf_pack_frame){ .function_id = event->function_id,
								  .start_ns = event->timestamp_ns,
								  .position = lane->position + at,
								  .depth = depth++ };
		} else if (event->event_kind == ADA_EVENT_RETURN && open && event->call_depth == depth - 1 &&
			   frames[open - 1].function_id == event->function_id) {
			uint64_t ns = event->timestamp_ns - frames[--open].start_ns;

			depth = open ? frames[open - 1].depth + 1 : 0;
			if (open)
				frames[open - 1].children_ns += ns;
		} else {
			break;
		}
		lane->last_ns = event->timestamp_ns;
	}
	lane->frames.count = open;
	return at;
}

int atf_pack_lane_skip(struct atf_pack_lane *lane, const struct ada_event *events, uint32_t count)
{
	int status = 0;

	lane->undo.low = 0; /* nobody comes back: nothing is kept for that */
	lane->undo.frames.count = 0;
	for (uint32_t at = 0; at < count && !status; at++) {
		if (!lane->after_loss)
			at = skip_plain(lane, events, at, count);
		if (at < count)
			status = atf_pack_lane_feed(lane, &events[at], at);
	}
	lane->undo.event_count = count;
	atf_pack_accept(lane);
	return status ? -ATF_ERROR_MEMORY : 0;
}
