/* What marks need to know of events: when they happened, where they are in the index, how many there are. */
#include <stdlib.h>
#include "recorder/detail/detail_state.h"

struct stretch {
	uint64_t seq, count;
	uint32_t begin;
}; /* committed events; offset of the first in its chunk */

/* The index chunk that a thread fills, or has sealed and not yet put into the ring; or NULL. */
static const struct ada_chunk *open_chunk(const struct ada_details *details, uint32_t thread, struct stretch *stretch)
{
	const struct ada_segment *segment = details->segment;
	const struct ada_shm_thread *entry = ada_drain_entry(details->drain, thread);
	uint32_t number, end, begin, status;
	const struct ada_chunk *chunk;
	bool there;

	if (!entry)
		return NULL;
	number = __atomic_load_n(&entry->chunk, __ATOMIC_ACQUIRE);
	if (!ada_segment_chunk_reach(segment, number))
		return NULL;
	chunk = ada_segment_chunk(segment, number);
	status = __atomic_load_n(&chunk->status, __ATOMIC_ACQUIRE);
	/* Sealed chunks stay as they are until they are drained; in circular mode agents take them. */
	there = status == ADA_CHUNK_OPEN || (status == ADA_CHUNK_SEALED && !details->options.lane.circular);
	if (!there || chunk->thread != thread)
		return NULL;
	end = ada_chunk_end(chunk);
	begin = ada_segment_chunk_begin(segment, number);
	*stretch = (struct stretch){ ada_segment_chunk_seq(segment, number), ada_segment_chunk_events(segment, number, end), begin };
	return end >= begin && end <= ADA_CHUNK_BYTES ? chunk : NULL;
}

/* The detail chunk, where it is or was this thread's; else NULL. */
static const struct ada_detail_chunk *chunk_of(const struct ada_details *details, uint32_t number, uint32_t thread)
{
	const struct ada_detail_chunk *chunk = ada_segment_detail_chunk(details->segment, number);

	if (ada_segment_detail_is_free(details->segment, number) || !ada_segment_detail_is_there(details->segment, number))
		return NULL;
	return chunk->thread == thread ? chunk : NULL;
}

/* Index circular: behind the newest sealed chunk of the thread. */
static uint64_t sealed_end(const struct ada_details *details, uint32_t thread)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; i < ada_segment_detail_end(details->segment); i = ada_segment_detail_after(details->segment, i)) {
		const struct ada_detail_chunk *chunk = chunk_of(details, i, thread);
		uint64_t end;

		if (!chunk || chunk->records > ada_segment_detail_events(details->segment, i))
			continue;
		end = chunk->first_seq + chunk->records;
		newest = end > newest ? end : newest;
	}
	return newest;
}

uint64_t ada_detail_committed(const struct ada_details *details, uint32_t thread)
{
	uint64_t drained = thread < details->drain->lanes.count ? details->drain->lanes.items[thread].next_seq : 0;
	struct stretch stretch;
	uint64_t open = open_chunk(details, thread, &stretch) ? stretch.seq + stretch.count : 0;

	if (!open && details->options.lane.circular && !details->finished)
		drained = sealed_end(details, thread);
	return open > drained ? open : drained;
}

uint64_t ada_detail_committed_all(const struct ada_details *details)
{
	uint64_t all = 0;

	ada_drain_meet(details->drain);
	for (uint32_t i = 0; i < details->drain->lanes.count; i++)
		all += ada_detail_committed(details, i);
	return all;
}

/* Counter of the event's record, or of the nearest event in its chunk that has a record. */
static uint64_t counter_near(const struct ada_details *details, const uint8_t *chunk, const struct detail_place *place, uint64_t seq)
{
	struct ada_detail_view view;
	struct detail_walk walk;

	ada_detail_walk(details, chunk, place, &walk);
	for (uint64_t at = seq + 1; at-- > place->seq;) {
		const struct ada_detail *record = ada_detail_record(&walk, at, &view);

		if (record)
			return record->counter;
	}
	return place->first_counter;
}

/* Looks in the pool for an event that isn't drained. `sealed`: in chunks that say how long they are; else in all, as far as a chunk may
 * reach. */
static bool search_pool(const struct ada_details *details, uint32_t thread, uint64_t seq, bool sealed, uint64_t *counter)
{
	for (uint32_t i = 0; i < ada_segment_detail_end(details->segment); i = ada_segment_detail_after(details->segment, i)) {
		const struct ada_detail_chunk *chunk = chunk_of(details, i, thread);
		uint32_t status, room, records;
		struct detail_place place;

		if (!chunk)
			continue;
		status = ada_detail_status(chunk);
		if (sealed && status != ADA_DETAIL_SEALED && status != ADA_DETAIL_HELD)
			continue;
		room = ada_segment_detail_events(details->segment, i);
		records = sealed ? chunk->records : room;
		if (records > room || seq - chunk->first_seq >= records)
			continue;
		place = (struct detail_place){
			.seq = chunk->first_seq,
			.chunk_seq = chunk->first_seq,
			.first_counter = chunk->first_counter,
			.count = records,
			.chunk = i,
		};
		*counter = counter_near(details, (const uint8_t *)chunk, &place, seq);
		return true;
	}
	return false;
}

static enum ada_mark_answer look_up(const struct ada_details *details, uint32_t number, uint64_t seq, uint64_t *ns)
{
	uint64_t counter;
	struct stretch stretch;
	bool claimed, drained;
	const struct ada_chunk *open = open_chunk(details, number, &stretch);

	if (open && seq >= stretch.seq && seq - stretch.seq < stretch.count) {
		const struct ada_event *events = (const struct ada_event *)((const uint8_t *)open + stretch.begin);

		*ns = ada_detail_event_ns(details, number, seq, events[seq - stretch.seq].timestamp_ns);
		return ADA_MARK_KNOWN;
	}
	if (number < details->threads.count) {
		const struct detail_thread *thread = &details->threads.items[number];
		size_t i = ada_detail_place_of(thread, seq);

		if (i < thread->places.count) {
			const struct detail_place *place = &thread->places.items[i];
			const uint8_t *chunk = ada_detail_chunk(details, number, place, &claimed);

			if (!chunk && place->why != ADA_SHORT_STARVED)
				return ADA_MARK_GONE;
			counter = chunk ? counter_near(details, chunk, place, seq) : place->last_counter;
			*ns = ada_detail_event_ns(details, number, seq, counter);
			return ADA_MARK_KNOWN;
		}
	}
	/* Index circular: nothing is drained before the end. */
	if (details->options.lane.circular && search_pool(details, number, seq, false, &counter)) {
		*ns = ada_detail_ns(details, counter);
		return ADA_MARK_KNOWN;
	}
	drained = number < details->drain->lanes.count && seq < details->drain->lanes.items[number].next_seq;
	return drained ? ADA_MARK_GONE : ADA_MARK_LATER;
}

static enum ada_mark_answer time_of(void *context, uint32_t number, uint64_t seq, uint64_t *ns)
{
	struct ada_details *details = context;
	enum ada_mark_answer answer = look_up(details, number, seq, ns);
	uint64_t counter;

	if (answer != ADA_MARK_LATER || details->finished || details->options.lane.circular)
		return answer;
	/* It may be in a chunk that was sealed since. Its detail tells the time as well, and at once: draining all that a fast
	 * program has piled up would take longer than the pool lasts. */
	if (search_pool(details, number, seq, true, &counter)) {
		*ns = ada_detail_event_ns(details, number, seq, counter);
		return ADA_MARK_KNOWN;
	}
	return ADA_MARK_LATER;
}

static enum ada_mark_answer place_of(void *context, uint32_t number, uint64_t seq, uint32_t *segment, uint64_t *index_seq)
{
	const struct ada_details *details = context;

	if (number >= details->drain->lanes.count || seq >= details->drain->lanes.items[number].next_seq)
		return ADA_MARK_LATER;
	return ada_lane_place(&details->drain->lanes.items[number], seq, segment, index_seq) ? ADA_MARK_KNOWN : ADA_MARK_GONE;
}

static uint64_t ns_of(void *context, uint64_t counter)
{
	return ada_detail_ns(context, counter);
}

static uint64_t committed(void *context, uint32_t thread)
{
	return ada_detail_committed(context, thread);
}

/* True once all that the thread wrote is drained, too: chunks that it sealed before its end may still be in the ring, behind many of
 * others. */
static bool ended(void *context, uint32_t number)
{
	struct ada_details *details = context;
	const struct ada_shm_thread *entry = ada_drain_entry(details->drain, number);
	struct detail_thread *thread;

	if (!entry || details->drain->lanes.items[number].closed)
		return true;
	if (__atomic_load_n(&entry->status, __ATOMIC_ACQUIRE) != ADA_THREAD_ENDED)
		return false;
	thread = ada_detail_thread(details, number);
	if (!thread || details->options.lane.circular) /* in that mode nothing is drained before the end */
		return true;
	if (!thread->ended_at)
		thread->ended_at = __atomic_load_n(&details->segment->shm->sealed_head, __ATOMIC_ACQUIRE) + 1;
	return details->drain->tail + 1 >= thread->ended_at;
}

struct ada_mark_source ada_detail_source(struct ada_details *details)
{
	const struct ada_clock_anchor *anchors;
	size_t count = ada_clock_anchors(details->options.lane.clock, &anchors);

	return (struct ada_mark_source){ .context = details,
					 .ns = ns_of,
					 .ns_per_tick = count ? anchors->ns_per_tick : 0,
					 .time = time_of,
					 .place = place_of,
					 .committed = committed,
					 .ended = ended };
}

struct counters {
	ADA_ARRAY(uint64_t) list;
};

/* Up to `nth` counters of one thread: the last ones at or before `counter`, or the first ones behind it. */
static void collect(const struct ada_details *details, uint32_t number, uint64_t counter, uint64_t nth, bool behind,
		    struct counters *counters)
{
	const struct detail_thread *thread = &details->threads.items[number];
	uint64_t found = 0;

	for (size_t k = 0; k < thread->places.count && found < nth; k++) {
		const struct detail_place *place = &thread->places.items[behind ? k : thread->places.count - 1 - k];
		bool claimed;
		const uint8_t *chunk = ada_detail_chunk(details, number, place, &claimed);
		struct detail_walk walk;

		if (!chunk || (behind ? place->last_counter <= counter : place->first_counter > counter))
			continue;
		ada_detail_walk(details, chunk, place, &walk);
		for (uint64_t n = 0; n < place->count && found < nth; n++) {
			struct ada_detail_view view;
			const struct ada_detail *record = ada_detail_record(&walk, place->seq + (behind ? n : place->count - 1 - n), &view);

			if (!record || (record->counter > counter) != behind)
				continue;
			if (ada_array_push(&counters->list, record->counter))
				return;
			found++;
		}
	}
}

static int sources_compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

uint64_t ada_detail_nth(const struct ada_details *details, uint64_t counter, uint64_t nth, bool behind)
{
	struct counters counters = { 0 };
	uint64_t result = behind ? UINT64_MAX : 0;

	for (uint32_t i = 0; i < details->threads.count; i++)
		collect(details, i, counter, nth, behind, &counters);
	if (nth && counters.list.count >= nth) {
		qsort(counters.list.items, counters.list.count, sizeof(uint64_t), sources_compare);
		result = counters.list.items[behind ? nth - 1 : counters.list.count - nth];
	}
	ada_array_free(&counters.list);
	return result;
}
