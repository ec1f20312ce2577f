#include "recorder/index/lane.h"
#include <errno.h>
#include "recorder/index/arena.h"
#include "recorder/index/lane_file.h"
#include "recorder/index/ledger.h"
#include "recorder/index/packed_lane.h"
#include "recorder/index/sink.h"

void ada_lane_note(struct ada_lane *lane, const struct ada_lane_options *options)
{
	size_t segments;
	const struct ada_lane_stretch *stretch;
	struct ada_arena_lane_state state;

	ada_lane_take_note(lane, options);
	if (!lane->note) {
		ada_packed_lane_submit(lane->packed);
		return;
	}
	segments = lane->segments.count;
	stretch = lane->stretches.count ? &lane->stretches.items[lane->stretches.count - 1] : NULL;
	state = (struct ada_arena_lane_state){ .next_seq = lane->next_seq,
					       .events = lane->events,
					       .lost = lane->lost,
					       .overwritten = lane->overwritten,
					       .gaps = lane->gaps,
					       .segment_gaps = lane->segment_gaps,
					       .told_lost = lane->told_lost,
					       .last_ns = lane->last_ns,
					       .captured = lane->captured,
					       .segment = segments ? (uint32_t)segments - 1 : ADA_NONE,
					       .segment_events = segments ? (uint32_t)lane->segments.items[segments - 1] : 0,
					       .thread_id = lane->thread_id,
					       .flags = (lane->closed ? ADA_ARENA_LANE_CLOSED : 0) |
							(lane->given_back ? ADA_ARENA_LANE_GIVEN_BACK : 0) |
							(lane->has_detail ? ADA_ARENA_LANE_DETAIL : 0) |
							(lane->packed_segments ? ADA_ARENA_LANE_PACKED : 0) };
	if (stretch && stretch->segment + 1 == segments) {
		state.stretch_seq = stretch->seq;
		state.stretch_index_seq = stretch->index_seq;
	}
	ada_arena_lane_note(options->arena, lane->note, &state);
	ada_packed_lane_submit(lane->packed);
}

void ada_lane_note_last(struct ada_lane *lane, const struct ada_lane_options *options, const struct ada_shm_thread *last)
{
	ada_lane_take_note(lane, options);
	ada_arena_lane_last(options->arena, lane->note, last);
}

void ada_lane_forget(struct ada_lane *lane, const struct ada_lane_options *options)
{
	ada_arena_lane_free(options->arena, lane->note);
	lane->note = 0;
	lane->noteless = true;
}

/* Times must not fall. The writer would raise them, but the event's detail must have the same time. */
static void raise(struct ada_lane *lane, struct ada_event *event, uint64_t seq, bool keep)
{
	event->timestamp_ns = lane->last_ns;
	if (keep && lane->raised.count < ADA_LANE_RAISED_MAX)
		ada_array_push(&lane->raised, (struct ada_lane_raised){ seq, lane->last_ns });
}

/* Of a stretch of the counter, by the clock's present slope. */
static uint64_t ns_of_ticks(const struct ada_clock *clock, uint64_t ticks)
{
	const struct ada_clock_anchor *anchors;
	size_t count = ada_clock_anchors(clock, &anchors);

	return (uint64_t)((double)ticks * anchors[count - 1].ns_per_tick);
}

/* Events of a commit, as far as they are in their place. */
struct batch {
	struct ada_event *to;
	const struct ada_event *from;
	size_t count, done;
	bool detail; /* its events' records are numbered */
	uint64_t captured, gaps, lost;
};

typedef uint64_t __attribute__((may_alias)) two_fields; /* the first of them in the lower half */

static inline uint64_t read_two(const uint32_t *first)
{
	return __atomic_load_n((const two_fields *)first, __ATOMIC_RELAXED);
}

static inline void write_two(uint32_t *first, uint64_t fields)
{
	*(two_fields *)first = fields;
}

/* Copies calls and ends from the ring as the file has them, up to the first event that is anything else, or whose time falls, or isn't on the
 * clock's line. Hot: each field is read once, for the agent may write there meanwhile. */
static void convert_plain(struct ada_lane *lane, struct ada_clock *clock, struct batch *batch)
{
	const struct ada_clock_line line = ada_clock_line(clock);
	const uint64_t thread_id = lane->thread_id, none = (uint64_t)ADA_NO_DETAIL << 32;
	const uint64_t numbered = batch->detail ? none : 0; /* what is less has a record */
	const struct ada_event *from = batch->from + batch->done, *end = batch->from + batch->count;
	struct ada_event *to = batch->to + batch->done;
	uint64_t last_ns = lane->last_ns, newest = 0, captured = batch->captured;

	for (; from < end; from++, to++) {
		uint64_t counter = __atomic_load_n(&from->timestamp_ns, __ATOMIC_RELAXED), ns = ada_clock_line_ns(&line, counter);
		uint64_t who = read_two(&from->thread_id), where = read_two(&from->call_depth);

		if ((uint32_t)(who >> 32) - ADA_EVENT_CALL > ADA_EVENT_EXCEPTION - ADA_EVENT_CALL || ns < last_ns ||
		    !ada_clock_line_holds(&line, counter))
			break;
		last_ns = ns;
		newest = counter > newest ? counter : newest;
		to->timestamp_ns = ns;
		to->function_id = from->function_id;
		write_two(&to->thread_id, who >> 32 << 32 | thread_id);
		write_two(&to->call_depth, (where < numbered ? captured++ << 32 : none) | (uint32_t)where / ADA_EVENT_DEPTH_UNIT);
	}
	ada_clock_converted(clock, newest);
	lane->last_ns = last_ns;
	batch->captured = captured;
	batch->done = (size_t)(from - batch->from);
}

/* The next event, whatever it is. */
static void convert_any(struct ada_lane *lane, const struct ada_lane_options *options, struct batch *batch)
{
	struct ada_event event = batch->from[batch->done];

	event.thread_id = lane->thread_id;
	event.call_depth /= ADA_EVENT_DEPTH_UNIT;
	event.timestamp_ns = ada_clock_ns(options->clock, event.timestamp_ns);
	if (event.timestamp_ns < lane->last_ns)
		raise(lane, &event, lane->next_seq + batch->done, batch->detail);
	if (event.event_kind == ADA_EVENT_LOST && options->details && !options->circular)
		options->listener->lost(options->details, lane->last_ns, lane->ends ? UINT64_MAX : event.timestamp_ns, event.function_id);
	lane->last_ns = event.timestamp_ns;
	if (event.event_kind == ADA_EVENT_RECORDER)
		event.function_id = ns_of_ticks(options->clock, event.function_id);
	event.detail_seq = !batch->detail || event.detail_seq == ADA_NO_DETAIL ? ADA_NO_DETAIL : (uint32_t)batch->captured++;
	if (event.event_kind == ADA_EVENT_LOST) {
		batch->gaps++;
		batch->lost += event.function_id;
	}
	batch->to[batch->done++] = event;
}

/* Puts events of the ring into their place in the file. `detail`: the chunk that goes with them, or ADA_NONE. */
static int commit(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, struct ada_event *place,
		  const struct ada_event *events, size_t count, uint32_t detail, struct ada_error *error)
{
	struct batch batch = { .to = place, .from = events, .count = count, .detail = detail != ADA_NONE, .captured = lane->captured };
	int status;

	for (convert_plain(lane, options->clock, &batch); batch.done < count; convert_plain(lane, options->clock, &batch))
		convert_any(lane, options, &batch);
	status = ada_lane_file_commit(lane, options, place, count);
	if (status)
		return ada_lane_told(status, lane, directory, error);
	if (options->ledger)
		ada_ledger_take(options->ledger, place, count);
	if (!lane->segments.items[lane->segments.count - 1] && count)
		lane->segment_ns = place[0].timestamp_ns;
	lane->captured = batch.captured;
	lane->gaps += batch.gaps;
	lane->segment_gaps += batch.gaps;
	lane->lost += batch.lost;
	lane->events += count;
	lane->segments.items[lane->segments.count - 1] += count;
	lane->unflushed = true;
	return 0;
}

int ada_lane_mark_lost(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, uint64_t count,
		       uint64_t counter, struct ada_error *error)
{
	struct ada_event *place;
	size_t room;
	int status = ada_lane_file_reserve(lane, options, directory, 1, &place, &room, error);

	if (status)
		return status;
	return commit(lane, options, directory, place,
		      &(struct ada_event){ .timestamp_ns = counter, .function_id = count, .event_kind = ADA_EVENT_LOST }, 1, ADA_NONE,
		      error);
}

/* The events between next_seq and seq are missing: readers must see that at this very place. */
static int mark_gap(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, uint64_t seq, uint64_t counter,
		    struct ada_error *error)
{
	uint64_t missing = seq - lane->next_seq;
	int status = ada_lane_mark_lost(lane, options, directory, missing, counter, error);

	if (status)
		return status;
	if (options->circular)
		lane->overwritten += missing;
	if (options->circular && options->details)
		options->listener->overwritten(options->details, lane->id, lane->next_seq, missing, counter);
	lane->next_seq = seq;
	return 0;
}

static void note_stretch(struct ada_lane *lane, uint64_t seq, uint32_t segment, uint64_t index_seq)
{
	const struct ada_lane_stretch *last = lane->stretches.count ? &lane->stretches.items[lane->stretches.count - 1] : NULL;
	struct ada_lane_stretch stretch = { .seq = seq, .index_seq = index_seq, .segment = segment };

	if (last && last->segment == segment && seq - last->seq == index_seq - last->index_seq)
		return;
	ada_array_push(&lane->stretches, stretch); /* without memory: marks behind it have no place */
}

bool ada_lane_has(const struct ada_lane *lane, uint32_t segment, uint64_t index_seq)
{
	return segment < lane->segments.count && index_seq < lane->segments.items[segment];
}

bool ada_lane_place(const struct ada_lane *lane, uint64_t seq, uint32_t *segment, uint64_t *index_seq)
{
	size_t i = ada_array_below(&lane->stretches, seq, seq + 1);
	const struct ada_lane_stretch *stretch;

	if (!i || seq >= lane->next_seq)
		return false;
	stretch = &lane->stretches.items[i - 1];
	*segment = stretch->segment;
	*index_seq = stretch->index_seq + (seq - stretch->seq);
	return ada_lane_has(lane, *segment, *index_seq);
}

int ada_lane_append(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, uint64_t seq,
		    const struct ada_event *events, size_t count, struct ada_lane_detail detail, struct ada_error *error)
{
	int status = 0;
	uint64_t lost_before;

	if (!options->details && !options->numbers_detail)
		detail.chunk = ADA_NONE;
	if (count && seq > lane->next_seq)
		status = mark_gap(lane, options, directory, seq, events->timestamp_ns, error);
	lost_before = lane->lost;
	while (count && !status) {
		struct ada_event *place;
		size_t room;
		struct ada_details_place where;

		status = ada_lane_file_reserve(lane, options, directory, count, &place, &room, error);
		if (status)
			break;
		where = (struct ada_details_place){ .thread = lane->id,
						    .detail_chunk = detail.chunk,
						    .seq = seq,
						    .count = room,
						    .chunk_seq = detail.chunk_seq,
						    .segment = (uint32_t)lane->segments.count - 1,
						    .index_seq = lane->segments.items[lane->segments.count - 1],
						    .detail_seq = lane->captured,
						    .first_counter = events->timestamp_ns,
						    .last_counter = events[room - 1].timestamp_ns };
		status = commit(lane, options, directory, place, events, room, detail.chunk, error);
		if (status)
			break;
		note_stretch(lane, seq, where.segment, where.index_seq);
		if (options->details)
			options->listener->drained(options->details, &where);
		seq += room;
		lane->next_seq += room;
		events += room;
		count -= room;
	}
	lane->told_lost += lane->lost - lost_before;
	return status;
}

int ada_lane_flush(struct ada_lane *lane, const char *directory, struct ada_error *error)
{
	int status;

	if (!ada_lane_file_is_open(lane) || !lane->unflushed)
		return 0;
	lane->unflushed = false;
	lane->looked = lane->segments.items[lane->segments.count - 1];
	status = ada_lane_file_flush(lane);
	return status ? ada_lane_told(status, lane, directory, error) : 0;
}

bool ada_lane_is_written(const struct ada_lane *lane)
{
	if (lane->closed)
		return true;
	return !lane->behind && (!lane->writer || atf_index_writer_written(lane->writer) >= lane->looked) &&
	       ada_packed_lane_is_written(lane->packed);
}

int ada_lane_close(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, struct ada_error *error)
{
	int status = ada_lane_file_wake(lane, options, directory, error);

	lane->closed = !ada_sink_trouble(options->patient, status);
	if (status)
		return lane->closed ? status : -EAGAIN;
	status = ada_lane_file_close(lane, options, directory, true);
	lane->closed = !status || errno != EAGAIN;
	if (!lane->closed)
		return -EAGAIN;
	return status ? ada_lane_told(status, lane, directory, error) : 0;
}

int ada_lane_roll(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, struct ada_error *error)
{
	int status = 0;

	if (ada_lane_file_is_open(lane) && lane->segments.items[lane->segments.count - 1])
		status = ada_lane_file_wake(lane, options, directory, error) ?: ada_lane_file_roll(lane, options, directory, error);
	if (!status)
		ada_lane_note(lane, options);
	return status;
}

void ada_lane_aged(struct ada_lane *lane, const struct ada_lane_options *options, uint32_t border, bool empty, uint64_t aged)
{
	size_t gone = 0;

	lane->first_segment = border;
	lane->leaving = lane->leaving > border ? lane->leaving : border; /* more may be on their way */
	lane->aged = aged;
	if (empty && lane->segments.count == border && !ada_array_push(&lane->segments, 0)) {
		lane->packed_segments++;
		ada_lane_note(lane, options);
	}
	while (gone < lane->stretches.count && lane->stretches.items[gone].segment < border)
		gone++;
	lane->stretches.count -= gone;
	if (gone)
		memmove(lane->stretches.items, lane->stretches.items + gone, lane->stretches.count * sizeof *lane->stretches.items);
}

bool ada_lane_keeps(const struct ada_lane *lane, uint32_t segment)
{
	for (size_t i = 0; i < lane->kept.count; i++)
		if (lane->kept.items[i] == segment)
			return true;
	return false;
}

void ada_lane_keep(struct ada_lane *lane, uint32_t segment, bool keeps)
{
	size_t count = 0;

	for (size_t i = 0; i < lane->kept.count; i++)
		if (lane->kept.items[i] != segment)
			lane->kept.items[count++] = lane->kept.items[i];
	lane->kept.count = count;
	if (keeps)
		ada_array_push(&lane->kept, segment);
}

void ada_lane_free(struct ada_lane *lane)
{
	if (lane->writer)
		atf_index_writer_abandon(lane->writer);
	lane->writer = NULL;
	ada_packed_lane_free(lane->packed);
	lane->packed = NULL;
	ada_array_free(&lane->segments);
	ada_array_free(&lane->kept);
	ada_array_free(&lane->raised);
	ada_array_free(&lane->stretches);
}
