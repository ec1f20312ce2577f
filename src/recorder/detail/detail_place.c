/* Where each thread's events lie, and for which of them detail is missing. */
#include <stdlib.h>
#include "recorder/detail/detail_spool.h"
#include "recorder/detail/detail_state.h"

#define ROUNDS_MAX 1000 /* of looking for holes: each round moves a window on to the next hole */
#define FORGET_NS 1000000000ull
#define TICKS_BEFORE 16 /* at least a ns, however fast the counter is */

/* --- what is forgotten ----------------------------------------------------------------------------------------------- */

/* Leaves out places that are gone at the beginning, and joins those that are gone further on. */
static void forget_thread(struct ada_details *details, uint32_t number, uint64_t until_ns)
{
	struct detail_thread *thread = &details->threads.items[number];
	size_t kept = 0;

	for (size_t i = 0; i < thread->places.count; i++) {
		struct detail_place place = thread->places.items[i];
		bool claimed, last = i + 1 == thread->places.count;
		uint64_t last_ns;
		struct detail_place *before;

		if (!last && place.chunk != ADA_NONE && !ada_detail_chunk(details, number, &place, &claimed)) {
			place.chunk = ADA_NONE;
			place.why = ADA_SHORT_OVERRUN;
			place.segment = UINT32_MAX;
		}
		last_ns = ada_detail_event_ns(details, number, place.seq + place.count - 1, place.last_counter);
		last |= last_ns >= until_ns;
		if (!last && place.chunk == ADA_NONE && !kept) {
			thread->gone_ns = last_ns;
			thread->gone_why = place.why;
			continue;
		}
		before = kept ? &thread->places.items[kept - 1] : NULL;
		if (!last && before && place.chunk == ADA_NONE && before->chunk == ADA_NONE && before->why == place.why) {
			before->count = place.seq + place.count - before->seq;
			before->last_counter = place.last_counter;
			before->segment = UINT32_MAX;
			continue;
		}
		thread->places.items[kept++] = place;
	}
	thread->places.count = kept;
	details->places_kept += kept;
}

/* Forgets places whose chunks are gone. */
static void forget(struct ada_details *details)
{
	uint64_t until_ns;

	if (details->finished || details->places < 2 * details->places_kept + 2 * details->segment->detail_chunks + 1024)
		return;
	details->places_kept = 0;
	/* Keeps recent places apart: they may lie between windows (also those of marks that aren't read yet), and joined they would be a
	 * hole in them. */
	until_ns = ada_clock_boottime_ns() - FORGET_NS;
	for (size_t i = ada_windows_count(details->windows); i-- && !ada_windows_at(details->windows, i)->settled;)
		if (ada_windows_at(details->windows, i)->start_ns < until_ns)
			until_ns = ada_windows_at(details->windows, i)->start_ns;
	for (uint32_t i = 0; i < details->threads.count; i++)
		forget_thread(details, i, until_ns);
	details->places = details->places_kept;
}

/* --- what is drained --------------------------------------------------------------------------------------------------- */

struct detail_thread *ada_detail_thread(struct ada_details *details, uint32_t thread)
{
	if (thread >= details->drain->lanes.count)
		return NULL;
	while (details->threads.count <= thread)
		if (ada_array_push(&details->threads, (struct detail_thread){ .last_ns = 0 }))
			return NULL;
	return &details->threads.items[thread];
}

/* Partial takes of one chunk are one place; so are events without detail, however many. */
static bool extends(const struct detail_place *last, const struct ada_details_place *more)
{
	return last->chunk == more->detail_chunk && last->segment == more->segment && last->seq + last->count == more->seq &&
	       last->index_seq + last->count == more->index_seq &&
	       (last->chunk == ADA_NONE ? last->why == ADA_SHORT_STARVED : last->chunk_seq == more->chunk_seq);
}

void ada_details_drained(struct ada_details *details, const struct ada_details_place *place)
{
	struct detail_thread *thread = ada_detail_thread(details, place->thread);
	uint64_t first_ns;
	struct detail_place *last, new;

	if (!thread || !place->count)
		return;
	first_ns = ada_detail_ns(details, place->first_counter);
	if (first_ns <= details->done_ns) {
		details->late = true;
		thread->late_ns = thread->cursor < thread->late_seq ? thread->late_ns : first_ns;
		thread->late_seq = place->seq + place->count;
	}
	last = thread->places.count ? &thread->places.items[thread->places.count - 1] : NULL;
	if (last && extends(last, place)) {
		last->count += place->count;
		last->last_counter = place->last_counter;
		return;
	}
	new = (struct detail_place){ .seq = place->seq,
				     .chunk_seq = place->chunk_seq,
				     .first_counter = place->first_counter,
				     .last_counter = place->last_counter,
				     .count = place->count,
				     .chunk = place->detail_chunk,
				     .segment = place->segment,
				     .index_seq = (uint32_t)place->index_seq,
				     .detail_seq = (uint32_t)place->detail_seq,
				     .why = ADA_SHORT_STARVED };
	if (ada_array_push(&thread->places, new))
		return; /* its records aren't written, as if they were gone */
	details->places++;
	forget(details);
	/* --detail-mode=oneshot ends with the first events that found no room. */
	if (new.chunk == ADA_NONE && details->options.persist_all && !details->all_ended &&
	    details->segment->detail_mode == ADA_DETAIL_ONESHOT) {
		details->all_ended = true;
		ada_windows_resolve(details->windows, ADA_DETAIL_TICKET_ALL, ada_detail_ns(details, new.first_counter) - 1,
				    ADA_SHORT_STARVED);
	}
}

void ada_details_overwritten(struct ada_details *details, uint32_t number, uint64_t seq, uint64_t count, uint64_t counter)
{
	struct detail_thread *thread = ada_detail_thread(details, number);
	const struct detail_place *last;
	struct detail_place gone;

	if (!thread)
		return;
	last = thread->places.count ? &thread->places.items[thread->places.count - 1] : NULL;
	gone = (struct detail_place){ .seq = seq,
				      .chunk_seq = seq,
				      .count = count,
				      .chunk = ADA_NONE,
				      .segment = UINT32_MAX,
				      .why = ADA_SHORT_OVERRUN | ADA_SHORT_OVERWRITTEN,
				      .last_counter = counter - TICKS_BEFORE,
				      .first_counter = last ? last->last_counter + 1 :
							      ada_detail_counter(details, details->options.start_ns) };
	if (gone.first_counter > gone.last_counter)
		gone.first_counter = gone.last_counter;
	if (!ada_array_push(&thread->places, gone))
		details->places++;
}

uint64_t ada_detail_ns(const struct ada_details *details, uint64_t counter)
{
	return ada_clock_ns(details->options.lane.clock, counter);
}

uint64_t ada_detail_event_ns(const struct ada_details *details, uint32_t thread, uint64_t seq, uint64_t counter)
{
	if (thread < details->drain->lanes.count) {
		const struct ada_lane *lane = &details->drain->lanes.items[thread];
		size_t i = lane->raised.count ? ada_array_below(&lane->raised, seq, seq) : 0;

		if (i < lane->raised.count && lane->raised.items[i].seq == seq)
			return lane->raised.items[i].ns;
	}
	return ada_detail_ns(details, counter);
}

static const uint8_t *in_pool(const struct ada_details *details, uint32_t thread, const struct detail_place *place, bool *claimed)
{
	const struct ada_detail_chunk *chunk;
	uint32_t status;

	if (!ada_segment_detail_reach(details->segment, place->chunk))
		return NULL;
	chunk = ada_segment_detail_chunk(details->segment, place->chunk);
	status = ada_detail_status(chunk);
	if (status == ADA_DETAIL_FREE || status > ADA_DETAIL_HELD || chunk->thread != thread || chunk->first_seq != place->chunk_seq)
		return NULL;
	/* A recycler claims the chunk first: where the status, read after the header, is still good, the header was whole when we read
	 * it. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	status = ada_detail_status(chunk);
	*claimed = status == ADA_DETAIL_CLAIMED && !details->finished;
	return (const uint8_t *)chunk;
}

const uint8_t *ada_detail_chunk(const struct ada_details *details, uint32_t thread, const struct detail_place *place, bool *claimed)
{
	const uint8_t *chunk;

	*claimed = false;
	if (place->chunk == ADA_NONE)
		return NULL;
	chunk = in_pool(details, thread, place, claimed);
	return chunk || !details->spool ? chunk : ada_spool_chunk(details->spool, thread, place->chunk_seq);
}

static struct ada_detail_view view_at(const struct detail_walk *walk, uint32_t at)
{
	return ada_detail_read((const struct ada_detail *)(walk->chunk + at), walk->bytes - at);
}

static uint64_t counter_at(const struct detail_walk *walk, uint32_t at)
{
	return __atomic_load_n(&((const struct ada_detail *)(walk->chunk + at))->counter, __ATOMIC_RELAXED);
}

/* The record at `at` is none of an event: it belongs to the last event with its counter. */
static void captured_attach(struct detail_walk *walk, uint32_t at)
{
	uint64_t counter = counter_at(walk, at);
	uint32_t far = walk->count < ADA_DETAIL_CAPTURED_FAR ? walk->count : ADA_DETAIL_CAPTURED_FAR;

	for (uint32_t slot = walk->count; slot-- > walk->count - far;)
		if (counter_at(walk, walk->at[slot] * ADA_DETAIL_UNIT) == counter) {
			walk->captured[slot] = (uint16_t)(at / ADA_DETAIL_UNIT);
			return;
		}
}

void ada_detail_walk(const struct ada_details *details, const uint8_t *chunk, const struct detail_place *place, struct detail_walk *walk)
{
	uint32_t most = ada_segment_detail_events(details->segment, place->chunk), at = ADA_DETAIL_RECORDS_BEGIN;
	uint64_t end = place->seq + place->count - place->chunk_seq;

	*walk = (struct detail_walk){ .chunk = chunk,
				      .chunk_seq = place->chunk_seq,
				      .bytes = ada_segment_detail_bytes(details->segment, place->chunk) };
	for (;;) {
		struct ada_detail_view view = view_at(walk, at);

		if (view.kind == ADA_DETAIL_CAPTURED)
			captured_attach(walk, at);
		else if (!view.bytes || walk->count == most || walk->count >= end)
			break;
		else
			walk->at[walk->count++] = (uint16_t)(at / ADA_DETAIL_UNIT);
		at += view.bytes;
	}
}

const struct ada_detail *ada_detail_record(const struct detail_walk *walk, uint64_t seq, struct ada_detail_view *view)
{
	uint64_t slot = seq - walk->chunk_seq;
	const struct ada_detail *record;
	uint32_t at;

	if (slot >= walk->count)
		return NULL;
	at = walk->at[slot] * ADA_DETAIL_UNIT;
	record = (const struct ada_detail *)(walk->chunk + at);
	*view = view_at(walk, at);
	if (view->kind && walk->captured[slot]) {
		struct ada_detail_view captured = view_at(walk, walk->captured[slot] * ADA_DETAIL_UNIT);

		if (captured.kind == ADA_DETAIL_CAPTURED) {
			view->captured = captured.stack;
			view->captured_size = captured.stack_size;
		}
	}
	return view->kind && view->kind != ADA_DETAIL_CAPTURED ? record : NULL;
}

size_t ada_detail_place_of(const struct detail_thread *thread, uint64_t seq)
{
	size_t below = ada_array_below(&thread->places, seq, seq + 1); /* places that begin at or before it */
	const struct detail_place *place;

	if (!below)
		return thread->places.count;
	place = &thread->places.items[below - 1];
	return seq - place->seq < place->count ? below - 1 : thread->places.count;
}

/* --- what is missing ------------------------------------------------------------------------------------------------- */

struct hole {
	uint64_t from, to;
	uint32_t why;
};
struct holes {
	ADA_ARRAY(struct hole) list;
	uint64_t from, until;
	bool decided, undecided;
};

static void note_hole(struct holes *holes, uint64_t from, uint64_t to, uint32_t why)
{
	if (from < holes->from)
		from = holes->from;
	if (from > to || from > holes->until)
		return;
	ada_array_push(&holes->list, (struct hole){ from, to, why });
}

/* Does a window that isn't settled hold any of the time between the two? */
static bool in_window(const struct ada_details *details, uint64_t first_ns, uint64_t last_ns)
{
	/* those before `low` begin by last_ns */
	size_t low = ada_first_not(i, 0, ada_windows_count(details->windows), ada_windows_at(details->windows, i)->start_ns <= last_ns);
	const struct ada_window *window = low ? ada_windows_at(details->windows, low - 1) : NULL;

	return window && !window->settled && window->end_ns >= first_ns;
}

/* Each missing place is a hole of its own: between two of them there may be a window in which this thread did nothing. Detail between
 * windows is usually missing. */
static void look_through(struct ada_details *details, uint32_t number, struct holes *holes)
{
	const struct detail_thread *thread = &details->threads.items[number];

	for (size_t i = thread->places.count; i--;) {
		const struct detail_place *place = &thread->places.items[i];
		bool claimed, there;
		uint64_t last_ns = ada_detail_event_ns(details, number, place->seq + place->count - 1, place->last_counter);
		uint64_t first_ns;

		if (last_ns < holes->from)
			break;
		first_ns = ada_detail_event_ns(details, number, place->seq, place->first_counter);
		if (first_ns > holes->until || !in_window(details, first_ns, last_ns))
			continue;
		there = ada_detail_chunk(details, number, place, &claimed);
		holes->undecided |= claimed && !holes->decided;
		if (!there || claimed)
			note_hole(holes, first_ns, last_ns, place->chunk == ADA_NONE ? place->why : ADA_SHORT_OVERRUN);
	}
	if (thread->gone_ns >= holes->from)
		note_hole(holes, holes->from, thread->gone_ns, thread->gone_why);
}

/* From the first to the last moment that an unsettled window wants and that isn't written. */
static bool wanted(const struct ada_details *details, uint64_t until_ns, uint64_t *from, uint64_t *to)
{
	*from = UINT64_MAX;
	*to = 0;
	for (size_t i = ada_windows_count(details->windows); i--;) {
		const struct ada_window *window = ada_windows_at(details->windows, i);
		uint64_t start;

		if (window->settled)
			break; /* settled in order of start */
		if (window->start_ns > until_ns)
			continue;
		start = window->start_ns > details->done_ns ? window->start_ns : details->done_ns + 1;
		*from = start < *from ? start : *from;
		*to = window->end_ns > *to ? window->end_ns : *to;
	}
	*to = *to < until_ns ? *to : until_ns;
	return *from <= *to;
}

static int compare_holes(const void *left, const void *right)
{
	const struct hole *a = left, *b = right;

	return (a->from > b->from) - (a->from < b->from);
}

/* True where a window was cut. */
static bool tell_holes(struct ada_details *details, struct holes *holes)
{
	bool cut = false;

	if (holes->list.count)
		qsort(holes->list.items, holes->list.count, sizeof *holes->list.items, compare_holes);
	for (size_t i = 0; i < holes->list.count; i++) {
		struct hole hole = holes->list.items[i];

		for (; i + 1 < holes->list.count && holes->list.items[i + 1].from <= hole.to && holes->list.items[i + 1].why == hole.why;
		     i++)
			if (holes->list.items[i + 1].to > hole.to)
				hole.to = holes->list.items[i + 1].to;
		cut |= ada_windows_hole(details->windows, hole.from, hole.to, hole.why);
	}
	if (holes->list.count)
		ada_detail_suffice(details);
	return cut;
}

bool ada_detail_holes(struct ada_details *details, uint64_t until_ns, bool decided)
{
	struct holes holes = { .decided = decided };
	bool cut = true;

	/* A window that lies wholly in a hole goes right behind the hole, where another thread's detail may be missing: so we look
	 * again. */
	for (unsigned round = 0; cut && !holes.undecided && round < ROUNDS_MAX; round++) {
		holes.list.count = 0;
		cut = wanted(details, until_ns, &holes.from, &holes.until);
		for (uint32_t i = 0; cut && i < details->threads.count; i++)
			look_through(details, i, &holes);
		cut = cut && !holes.undecided && tell_holes(details, &holes);
	}
	ada_array_free(&holes.list);
	return !holes.undecided;
}

/* --- how much it is -------------------------------------------------------------------------------------------------- */

#define SLICE_RECORDS 16384

/* About how many events there are in (from, to]. */
static double events_between(const struct ada_details *details, uint64_t from_ns, uint64_t to_ns)
{
	double events = 0;

	for (uint32_t number = 0; number < details->threads.count; number++) {
		const struct detail_thread *thread = &details->threads.items[number];

		for (size_t i = thread->places.count; i--;) {
			const struct detail_place *place = &thread->places.items[i];
			uint64_t last = ada_detail_ns(details, place->last_counter), first = ada_detail_ns(details, place->first_counter);
			uint64_t begin, end;

			if (last <= from_ns)
				break;
			if (first > to_ns || place->chunk == ADA_NONE)
				continue;
			begin = first > from_ns ? first : from_ns;
			end = last < to_ns ? last : to_ns;
			events += (double)place->count * (double)(end - begin + 1) / (double)(last - first + 1);
		}
	}
	return events;
}

/* The first place that ends at that time or later. */
static size_t place_at(const struct ada_details *details, const struct detail_thread *thread, uint64_t ns)
{
	return ada_first_not(i, 0, thread->places.count, ada_detail_ns(details, thread->places.items[i].last_counter) < ns);
}

/* Whether the chunk comes on top of the buffer, as a thread's first ones do where there are many threads. */
static bool is_small(const struct ada_details *details, uint32_t thread, const struct detail_place *place)
{
	if (place->chunk != ADA_NONE)
		return place->chunk >= details->segment->detail_chunks;
	return details->segment->detail_small_chunks && thread >= ADA_THREADS_LARGE &&
	       place->seq + place->count <= ADA_SMALL_A_THREAD * ADA_DETAIL_SMALL_EVENTS;
}

/* Counts chunks whether they are still there or not. Of places that were joined only the count is known; their events count as spread
 * evenly. */
double ada_detail_chunks(const struct ada_details *details, uint64_t from_ns, uint64_t to_ns)
{
	double chunks = 0;

	for (uint32_t number = 0; number < details->threads.count; number++)
		if (details->threads.items[number].gone_ns >= from_ns)
			return 0;
	for (uint32_t number = 0; number < details->threads.count; number++) {
		const struct detail_thread *thread = &details->threads.items[number];

		for (size_t i = place_at(details, thread, from_ns); i < thread->places.count; i++) {
			const struct detail_place *place = &thread->places.items[i];
			uint64_t last = ada_detail_ns(details, place->last_counter), first = ada_detail_ns(details, place->first_counter);
			uint64_t begin, end;
			double part;

			if (first > to_ns)
				break;
			if (is_small(details, number, place))
				continue;
			begin = first > from_ns ? first : from_ns;
			end = last < to_ns ? last : to_ns;
			part = (double)place->count * (double)(end - begin + 1) / (double)(last - first + 1) / ADA_CHUNK_EVENTS;
			chunks += part > 1 ? part : 1;
		}
	}
	return chunks;
}

uint64_t ada_detail_slice(const struct ada_details *details, uint64_t until_ns)
{
	uint64_t from, to, low, high;

	if (!wanted(details, until_ns, &from, &to) || events_between(details, from, to) <= SLICE_RECORDS)
		return until_ns;
	low = from;
	high = to;
	for (int i = 0; i < 30 && high - low > 1000; i++) {
		uint64_t middle = low + (high - low) / 2;

		if (events_between(details, from, middle) <= SLICE_RECORDS)
			low = middle;
		else
			high = middle;
	}
	return high;
}
