/* The pin (protocol: abi/detail.h), and chunks that go back to the pool. */
#include "base/directory.h"
#include "recorder/detail/detail_spool.h"
#include "recorder/detail/detail_state.h"

#define SLACK_NS 100000ull /* the clock's inverse is off by less */
#define TRIES_MAX 10000
#define SPOOL_NS 1000000ull
#define IDLE_LOOKS 64u
#define AHEAD_PARTS 1000 /* for a time yet to come: slopes differ by less than one part in so many */

struct ada_pin ada_detail_pin(const struct ada_details *details)
{
	return ada_pin_read(&details->segment->shm->detail.pin);
}

void ada_detail_widen(struct ada_details *details, uint64_t start, uint64_t end)
{
	ada_marks_own(details->segment, start, end);
	ada_pin_widen(&details->segment->shm->detail.pin, start, end, TRIES_MAX);
}

uint64_t ada_detail_counter(const struct ada_details *details, uint64_t ns)
{
	const struct ada_clock_anchor *anchors, *anchor;
	size_t count = ada_clock_anchors(details->options.lane.clock, &anchors);
	size_t below = ada_first_not(i, 0, count, anchors[i].ns <= ns);
	double ticks, counter;

	if (!count)
		return 0;
	anchor = &anchors[below ? below - 1 : 0];
	ticks = ((double)ns - (double)anchor->ns) / anchor->ns_per_tick;
	counter = (double)anchor->counter + ticks;
	if (ns >= anchor->ns) /* exact except behind the anchor */
		return ticks < 9e18 ? anchor->counter + (uint64_t)ticks : UINT64_MAX;
	return counter > 0 ? (uint64_t)counter : 0;
}

/* What unsettled windows want that isn't written yet. False: nothing. */
static bool hull(const struct ada_details *details, struct ada_pin *pin)
{
	uint64_t start = UINT64_MAX, end = 0, now = ada_clock_boottime_ns();

	for (size_t i = ada_windows_count(details->windows); i--;) {
		const struct ada_window *window = ada_windows_at(details->windows, i);

		if (window->settled)
			break;
		start = window->start_ns < start ? window->start_ns : start;
		end = window->end_ns > end ? window->end_ns : end;
	}
	if (start > end)
		return false;
	start = start > details->done_ns ? start : details->done_ns + 1;
	pin->start = ada_pin_start(ada_detail_counter(details, start > SLACK_NS ? start - SLACK_NS : 0));
	if (end != ADA_WINDOW_OPEN)
		end += SLACK_NS + (end > now ? (end - now) / AHEAD_PARTS : 0);
	pin->end = end == ADA_WINDOW_OPEN ? UINT64_MAX : ada_detail_counter(details, end);
	return true;
}

/* Takes a ring's oldest chunk as an agent would: `pinned`: if the pin holds that chunk; else if it doesn't. */
static bool hold_oldest(struct ada_details *details, bool small, struct ada_pin pin, bool pinned)
{
	const struct ada_segment *segment = details->segment;
	const struct ada_ring *ring = small ? &segment->detail_small_ring : &segment->detail_ring;
	uint32_t number, first = small ? ada_small_first(segment->detail_chunks) : 0;
	const struct ada_detail_chunk *chunk;
	uint64_t tail;

	if (!ada_ring_oldest(ring, &tail, &number) || number >= ring->count || !ada_segment_detail_reach(segment, number += first))
		return false;
	chunk = ada_segment_detail_chunk(segment, number);
	return ada_pin_holds(pin.start, pin.end, chunk->first_counter, chunk->last_counter) == pinned && ada_ring_take(ring, tail) &&
	       ada_detail_hold((struct ada_detail_chunk *)chunk);
}

/* Does an unsettled window want something between two counters that isn't written yet? */
static bool wanted_between(void *context, uint64_t first, uint64_t last)
{
	const struct ada_details *details = context;
	uint64_t last_ns = ada_detail_ns(details, last), first_ns = ada_detail_ns(details, first);

	first_ns = first_ns > last_ns || first_ns < SLACK_NS ? 0 : first_ns - SLACK_NS; /* before the clock's own beginning */
	for (size_t i = ada_windows_count(details->windows); i--;) {
		const struct ada_window *window = ada_windows_at(details->windows, i);

		if (window->settled || window->end_ns < first_ns)
			return false;
		if (window->start_ns <= last_ns + SLACK_NS && last_ns + SLACK_NS > details->done_ns)
			return true;
	}
	return false;
}

static bool wanted(const struct ada_details *details, const struct ada_detail_chunk *chunk)
{
	return wanted_between((void *)details, chunk->first_counter, chunk->last_counter);
}

/* Where the end of a post-roll in events is known by now, the mark pins nothing behind that end. */
static void end_post_rolls(struct ada_details *details)
{
	const struct ada_shm *shm = details->segment->shm;
	uint64_t tail = __atomic_load_n(&shm->marks.tail, __ATOMIC_RELAXED);
	uint64_t first = __atomic_load_n(&shm->detail.settled, __ATOMIC_RELAXED), open = UINT64_MAX;

	for (uint64_t n = tail - first > ADA_MARKS ? tail : first; n < tail; n++) {
		struct ada_mark *mark = &details->segment->marks[n % ADA_MARKS];
		const struct ada_window *window;

		if (__atomic_load_n(&mark->pin_end, __ATOMIC_RELAXED) != open)
			continue;
		window = ada_windows_of(details->windows, ada_detail_ns(details, mark->counter));
		if (window && window->closed && __atomic_load_n(&mark->ready, __ATOMIC_ACQUIRE) == n + 1)
			__atomic_compare_exchange_n(&mark->pin_end, &open, ada_detail_counter(details, window->end_ns + SLACK_NS), false,
						    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
		open = UINT64_MAX;
	}
}

/* All marks that were made before the pin was `narrowed` are windows by now. */
static void free_held(struct ada_details *details, struct ada_pin narrowed)
{
	for (uint32_t i = 0; i < ada_segment_detail_end(details->segment); i = ada_segment_detail_after(details->segment, i)) {
		struct ada_detail_chunk *chunk;

		if (ada_segment_detail_is_free(details->segment, i) || !ada_segment_detail_is_there(details->segment, i))
			continue;
		chunk = ada_segment_detail_chunk(details->segment, i);
		if (ada_detail_status(chunk) != ADA_DETAIL_HELD || wanted(details, chunk))
			continue;
		if (ada_detail_pin(details).start != narrowed.start)
			return;
		ada_horizon_raise(&details->segment->shm->detail, chunk->last_counter);
		ada_segment_detail_return(details->segment, i);
	}
}

/* As long as nothing is pinned no chunk is held. One that an agent was about to hold just before that is found in time. */
static bool may_be_held(struct ada_details *details, struct ada_pin narrowed)
{
	bool pins = ada_pin_bound(narrowed) != ADA_PIN_NONE, changed = narrowed.start != details->looked_start;

	details->looked_start = narrowed.start;
	if (pins || changed || details->segment->detail_mode == ADA_DETAIL_STREAMING)
		details->idle_looks = 0;
	return details->idle_looks++ % IDLE_LOOKS == 0;
}

bool ada_detail_narrow(struct ada_details *details, struct ada_pin seen, bool look)
{
	struct ada_pin narrowed = { .start = ADA_PIN_NONE, .end = 0 };

	if (details->segment->detail_mode == ADA_DETAIL_ONESHOT)
		return true; /* no chunk comes back */
	if (hull(details, &narrowed)) {
		/* The pin never grows here: what it doesn't hold by now may be gone. */
		if (narrowed.start < seen.start)
			narrowed.start = seen.start;
		if (narrowed.end > seen.end)
			narrowed.end = seen.end;
	}
	narrowed.start = ada_pin_bound(narrowed) | ada_pin_epoch(seen);
	if (ada_pin_bound(seen) == ADA_PIN_NONE)
		narrowed = seen;
	/* Exchange even an unchanged pin: that proves the pin is still what was seen before the marks were read. */
	if (!ada_pin_swap(&details->segment->shm->detail.pin, &seen, narrowed))
		return false;
	if (!look)
		return true;
	/* --detail-mode=streaming: agents recycle nothing. A hostile ring ends by its length. */
	if (details->segment->detail_mode == ADA_DETAIL_STREAMING)
		for (int small = 0; small < 2; small++) {
			uint32_t count = small ? details->segment->detail_small_chunks : details->segment->detail_chunks;

			for (uint32_t i = 0; i < count && hold_oldest(details, small, narrowed, false); i++)
				;
		}
	end_post_rolls(details);
	ada_marks_settle(details->marks, wanted_between, details);
	if (may_be_held(details, narrowed))
		free_held(details, narrowed);
	return true;
}

/* Counts ordinary chunks only: a small chunk in use is as good as a thread's own, and threads take ordinary ones where small ones are
 * used up. */
struct detail_pool ada_detail_pool(const struct ada_details *details)
{
	uint32_t count = ada_segment_detail_count(details->segment);
	struct detail_pool pool = { .growing = count < details->segment->detail_chunks &&
					       !__atomic_load_n(&details->segment->detail_exhausted, __ATOMIC_RELAXED) };

	for (uint32_t i = 0; i < count; i++) {
		const struct ada_detail_chunk *chunk;
		uint32_t status;

		if (!ada_segment_detail_is_there(details->segment, i))
			continue;
		pool.ready++;
		if (ada_segment_detail_is_free(details->segment, i)) {
			pool.free++;
			continue;
		}
		chunk = ada_segment_detail_chunk(details->segment, i);
		status = ada_detail_status(chunk);
		if (status == ADA_DETAIL_HELD) {
			pool.held++;
			pool.pinned++;
		} else if (status != ADA_DETAIL_SEALED) {
			pool.open++;
		} else if (wanted(details, chunk)) {
			pool.pinned++;
		} else {
			pool.recyclable++;
		}
	}
	return pool;
}

/* --- index circular -------------------------------------------------------------------------------------------------- */

void ada_detail_spool_turn(struct ada_details *details, struct ada_pin seen, uint64_t now_ns)
{
	struct detail_pool pool;
	uint32_t half;

	if (details->segment->detail_mode == ADA_DETAIL_ONESHOT || now_ns - details->looked_ns < SPOOL_NS)
		return;
	details->looked_ns = now_ns;
	pool = ada_detail_pool(details);
	half = details->segment->detail_chunks / 2;
	for (uint32_t left = pool.free + pool.recyclable; left < half && hold_oldest(details, false, seen, true); left++)
		;
	for (uint32_t i = 0; i < ada_segment_detail_end(details->segment); i = ada_segment_detail_after(details->segment, i)) {
		struct ada_detail_chunk *chunk;
		uint32_t bytes;
		int status;

		if (ada_segment_detail_is_free(details->segment, i) || !ada_segment_detail_is_there(details->segment, i))
			continue;
		chunk = ada_segment_detail_chunk(details->segment, i);
		if (ada_detail_status(chunk) != ADA_DETAIL_HELD)
			continue;
		bytes = ada_segment_detail_bytes(details->segment, i);
		status = wanted(details, chunk) ? ada_spool_put(details->spool, chunk, bytes) : 0;
		if (status) {
			char shown[PATH_MAX];

			ada_error_system(&details->error, -status, "%s: detail can't be kept",
					 ada_directory_shown(details->drain->directory, shown));
		}
		ada_horizon_raise(&details->segment->shm->detail, chunk->last_counter);
		ada_segment_detail_return(details->segment, i);
	}
}
