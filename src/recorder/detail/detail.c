/* The turn of the detail store: what is due is written, what isn't wanted goes back (parts: detail_state.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "recorder/bound/bound.h"
#include "recorder/detail/detail_spool.h"
#include "recorder/detail/detail_state.h"
#include "recorder/index/sink.h"

#define EVENTS_LINGER_NS 500000000ull /* for pre-rolls in events: nobody knows how long those take */
#define LINGER_MAX_NS 10000000000ull  /* how long a closed window may wait for a mark whose pre-roll reaches into it */
#define NARROW_TRIES 16
#define LOOK_NS 2000000ull /* how often the pool is looked through */
#define LOOK_CHUNK_NS 1000ull
#define FEW_CHUNKS 4096
#define CLOSE_NS 200000000ull /* how often files of ended threads are closed */
#define PATIENCE_PRESSED 2    /* the same where room is short */
#define PATIENCE 64	      /* turns that a window waits for a thread that is about to commit or to decide */

static const struct ada_lane_listener listener = { ada_details_drained, ada_details_overwritten, ada_details_lost };

int ada_details_open(struct ada_details **result, struct ada_segment *segment, struct ada_drain *drain,
		     const struct ada_details_options *options)
{
	struct ada_details *details = calloc(1, sizeof *details);
	int status = -ENOMEM;

	if (!details)
		return status;
	*details = (struct ada_details){ .segment = segment, .drain = drain, .options = *options };
	details->windows = ada_windows_open(options->start_ns);
	if (!details->windows)
		goto fail;
	if (options->lane.circular) {
		status = ada_spool_open(&details->spool, drain->directory, segment->detail_chunk_bytes);
		if (status)
			goto fail;
	}
	if (options->persist_all) {
		struct ada_window_mark all = { .ns = options->start_ns,
					       .none = true,
					       .thread = UINT32_MAX,
					       .index_seq = UINT64_MAX,
					       .seq = UINT64_MAX,
					       .start_ns = options->start_ns,
					       .end_ns = ADA_WINDOW_OPEN,
					       .ticket = ADA_DETAIL_TICKET_ALL };

		status = ada_windows_mark(details->windows, &all);
		if (status)
			goto fail;
		ada_detail_widen(details, 0, UINT64_MAX);
	}
	drain->options.details = details;
	drain->options.listener = &listener;
	*result = details;
	return 0;
fail:
	ada_details_close(details);
	return status;
}

/* On the main thread, which owns the clock that marks use. False: no memory. */
static bool window_begin(struct ada_details *details)
{
	struct ada_mark_source source;

	if (details->marks)
		return true;
	source = ada_detail_source(details);
	return !ada_marks_open(&details->marks, details->segment, details->windows, &source);
}

void ada_details_pre_rolls(struct ada_details *details, uint64_t ns, uint64_t events)
{
	details->pre_ns = ns;
	details->pre_events = events;
}

struct ada_windows *ada_details_windows(struct ada_details *details)
{
	return details->windows;
}

/* --- marks of our own ------------------------------------------------------------------------------------------------ */

int ada_details_mark(struct ada_details *details, const struct ada_rule *rules, uint64_t slots, uint32_t version, uint64_t counter,
		     uint64_t value)
{
	uint64_t pre = 0, pre_events = 0, post = 0, post_events = 0;
	uint64_t start, end;
	struct ada_window_mark mark;

	for (uint64_t left = slots; left; left &= left - 1) {
		const struct ada_rule *rule = &rules[__builtin_ctzll(left)];

		pre = rule->pre_ticks > pre ? rule->pre_ticks : pre;
		pre_events = rule->pre_events > pre_events ? rule->pre_events : pre_events;
		post = rule->post_ticks > post ? rule->post_ticks : post;
		post_events = rule->post_events > post_events ? rule->post_events : post_events;
	}
	start = counter > pre ? counter - pre : 0;
	end = counter + post;
	if (pre_events) {
		uint64_t nth;

		if (!details->finished)
			ada_drain_open_chunks(details->drain);
		nth = ada_detail_nth(details, counter, pre_events, false);
		start = nth < start ? nth : start;
	}
	mark = (struct ada_window_mark){ .ns = ada_detail_ns(details, counter),
					 .rules = slots,
					 .version = version,
					 .thread = UINT32_MAX,
					 .index_seq = UINT64_MAX,
					 .seq = UINT64_MAX,
					 .value = value,
					 .pin_start = start,
					 .start_ns = ada_detail_ns(details, start),
					 .end_ns = ada_detail_ns(details, end),
					 .pre_events = pre_events,
					 .post_events = post_events };
	if (mark.start_ns > mark.ns) /* before the clock's own beginning: all that there is */
		mark.start_ns = 0;
	mark.pre_ns = mark.ns - ada_detail_ns(details, counter > pre ? counter - pre : 0);
	mark.post_ns = mark.end_ns - mark.ns;
	if (!details->finished)
		ada_detail_widen(details, start, post_events ? UINT64_MAX : end);
	if (post_events) {
		struct detail_mark open = { .ticket = ADA_DETAIL_TICKET_ALL + ++details->tickets,
					    .counter = counter,
					    .end_ns = mark.end_ns,
					    .base = ada_detail_committed_all(details),
					    .events = post_events };
		int status;

		mark.end_ns = ADA_WINDOW_OPEN;
		mark.ticket = open.ticket;
		status = ada_array_push(&details->open_marks, open);
		if (status)
			return status;
	}
	details->own_marks++;
	details->own_last = (struct ada_mark_last){ .ns = mark.ns, .rules = slots, .version = version };
	return ada_windows_mark(details->windows, &mark);
}

/* Post-rolls in events of all threads together. */
static bool resolve_own(struct ada_details *details)
{
	size_t kept = 0, count = details->open_marks.count;
	uint64_t all;

	if (!count)
		return false;
	all = ada_detail_committed_all(details);
	for (size_t i = 0; i < count; i++) {
		struct detail_mark *mark = &details->open_marks.items[i];
		uint64_t counter = UINT64_MAX;
		uint32_t shorts = 0;
		uint64_t end_ns;

		if (all - mark->base >= mark->events) {
			ada_drain_sealed(details->drain);
			ada_drain_open_chunks(details->drain);
			counter = ada_detail_nth(details, mark->counter, mark->events, true);
			/* Enough events came, but not all have their detail: the post-roll ends with those that have. */
			if (counter == UINT64_MAX && all - mark->base >= 2 * mark->events)
				counter = ada_clock_counter();
		} else if (ada_quiet_look(&mark->quiet, all, ada_clock_boottime_ns())) {
			counter = ada_clock_counter();
			shorts = ADA_SHORT_QUIET;
		}
		if (counter == UINT64_MAX) {
			details->open_marks.items[kept++] = *mark;
			continue;
		}
		end_ns = ada_detail_ns(details, counter);
		ada_windows_resolve(details->windows, mark->ticket, end_ns > mark->end_ns ? end_ns : mark->end_ns, shorts);
	}
	details->open_marks.count = kept;
	return kept < count;
}

/* --- the turn -------------------------------------------------------------------------------------------------------- */

static bool anything_unsettled(const struct ada_details *details)
{
	size_t count = ada_windows_count(details->windows);

	return count && !ada_windows_at(details->windows, count - 1)->settled;
}

/* Pools of many GiB are looked through less often. */
static bool look_due(const struct ada_details *details, uint64_t since_ns, uint64_t now_ns)
{
	const struct ada_segment *segment = details->segment;
	uint64_t chunks = ada_segment_detail_count(segment) + ada_segment_detail_small_count(segment);

	return now_ns - since_ns >= LOOK_NS + LOOK_CHUNK_NS * chunks;
}

/* Less than half of the pool is left for new events, and what pins the rest could be in a file. While the pool still grows less will do,
 * for a window that is being written can't begin earlier any more. */
static bool pool_is_short(struct ada_details *details, uint64_t now_ns)
{
	struct detail_pool pool;

	if (!look_due(details, details->looked_ns, now_ns))
		return details->behind;
	details->looked_ns = now_ns;
	pool = ada_detail_pool(details);
	details->behind = pool.pinned && pool.free + pool.recyclable < pool.ready / (pool.growing ? 4 : 2);
	return details->behind;
}

/* Up to which time all windows must be written now; 0: none must. */
static uint64_t due(struct ada_details *details, uint64_t now_ns, bool pressed)
{
	uint64_t until = 0, passed = now_ns - ADA_DETAIL_MARGIN_NS;
	uint64_t longest = details->pre_events && details->pre_ns < EVENTS_LINGER_NS ? EVENTS_LINGER_NS : details->pre_ns;

	for (size_t i = ada_windows_count(details->windows); i--;) {
		const struct ada_window *window = ada_windows_at(details->windows, i);
		uint64_t linger;

		if (window->settled)
			break;
		if (pressed && window->start_ns <= passed)
			return passed;
		linger = window->pre_ns > longest ? window->pre_ns : longest;
		linger = linger < LINGER_MAX_NS ? linger : LINGER_MAX_NS;
		if (window->closed && window->end_ns + linger <= passed && window->end_ns > until)
			until = window->end_ns;
	}
	return until;
}

/* Whether C code is between reading the counter and committing: its event may still come, with an old time. */
static bool anyone_writes(const struct ada_details *details)
{
	uint32_t count = ada_segment_thread_count(details->segment);

	for (uint32_t i = 0; i < count; i++)
		if (__atomic_load_n(&details->segment->threads[i].status, __ATOMIC_RELAXED) == ADA_THREAD_LIVE &&
		    __atomic_load_n(&details->segment->threads[i].writing, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

/* The time up to which every thread's events have their places in the index. A thread that has more events, in its open chunk or in one
 * on its way, counts with the last one drained. */
static uint64_t drained_until(const struct ada_details *details)
{
	const struct ada_segment *segment = details->segment;
	const struct ada_drain *drain = details->drain;
	uint64_t until = UINT64_MAX, head;
	uint32_t threads = ada_segment_thread_count(segment);

	for (uint32_t i = 0; i < threads; i++) {
		uint32_t id;
		uint64_t committed, last_ns;
		const struct ada_lane *lane;

		if (__atomic_load_n(&segment->threads[i].status, __ATOMIC_ACQUIRE) == ADA_THREAD_UNUSED)
			continue;
		id = __atomic_load_n(&segment->threads[i].id, __ATOMIC_RELAXED);
		committed = ada_detail_committed(details, id);
		lane = id < drain->lanes.count ? &drain->lanes.items[id] : NULL;
		last_ns = lane ? lane->last_ns : 0;
		if (committed > (lane ? lane->next_seq : 0) && last_ns < until)
			until = last_ns;
	}
	/* Read after the threads: a thread without a chunk had put its chunk into the ring before. The ring holds no more than `count`
	 * chunks, whatever its head says. */
	head = __atomic_load_n(&segment->shm->sealed_head, __ATOMIC_ACQUIRE);
	for (uint64_t n = drain->tail; n < head && n - drain->tail < segment->numbers; n++) {
		uint32_t number, thread;
		uint64_t last_ns;

		if (!ada_ring_at(&segment->ring, n, &number) || !ada_segment_chunk_reach(segment, number))
			return 0; /* the head passes filled places only, anybody's */
		thread = ada_segment_chunk(segment, number)->thread;
		last_ns = thread < drain->lanes.count ? drain->lanes.items[thread].last_ns : 0;
		until = last_ns < until ? last_ns : until;
	}
	return until;
}

static bool write_due(struct ada_details *details, uint64_t now_ns)
{
	bool pressed = details->segment->detail_mode != ADA_DETAIL_ONESHOT && anything_unsettled(details) && pool_is_short(details, now_ns);
	bool patient;
	uint64_t until, drained, some;

	if (ada_sink_troubled(details->options.lane.patient) || ada_bound_is_full(details->drain->options.bound, 0) ||
	    !due(details, now_ns, pressed))
		return false;
	patient = details->patience++ < (pressed ? PATIENCE_PRESSED : PATIENCE);
	if (patient && anyone_writes(details))
		return false;
	ada_drain_open_chunks(details->drain);
	/* Marks of events drained just now may have widened what is due. */
	ada_marks_read(details->marks);
	until = due(details, now_ns, pressed);
	drained = drained_until(details);
	/* The drain comes in its own time: waiting for all that a fast program has piled up would leave the program without free detail
	 * chunks. */
	if (until > drained)
		until = pressed ? drained : 0;
	if (!until || (!ada_detail_holes(details, until, !patient) && patient))
		return false;
	details->patience = 0;
	ada_windows_tick(details->windows, now_ns - ADA_DETAIL_MARGIN_NS); /* windows that a hole has made due */
	some = ada_detail_slice(details, until);
	details->behind &= some < until;
	ada_detail_write(details, some);
	return true;
}

/* Where turns take long a mark may come in every turn. Then we read the mark at once, so that next to no time lies between the look at
 * the pin and its change. Otherwise the pin would never be narrowed, and no chunk would come free. */
static bool narrow(struct ada_details *details, struct ada_pin seen, bool look)
{
	bool changed = false;

	for (unsigned i = 0; !ada_detail_narrow(details, seen, look) && i < NARROW_TRIES; i++) {
		seen = ada_detail_pin(details);
		changed |= ada_marks_read(details->marks);
	}
	return changed;
}

bool ada_details_turn(struct ada_details *details, uint64_t now_ns)
{
	struct ada_pin seen;
	bool changed, written, look;

	if (details->finished || !window_begin(details))
		return false;
	seen = ada_detail_pin(details);
	ada_detail_rate(details, now_ns);
	changed = ada_marks_read(details->marks);
	changed |= resolve_own(details);
	changed |= ada_windows_tick(details->windows, now_ns - ADA_DETAIL_MARGIN_NS);
	if (details->spool) {
		ada_detail_spool_turn(details, seen, now_ns);
		return changed;
	}
	written = details->late && ada_detail_write_late(details);
	written |= write_due(details, now_ns);
	if (details->late) /* their events were drained just now: write them before the pin lets go of them */
		written |= ada_detail_write_late(details);
	look = look_due(details, details->narrowed_ns, now_ns) || (written && ada_segment_detail_count(details->segment) < FEW_CHUNKS);
	if (written || changed || look)
		changed |= narrow(details, seen, look);
	if (look)
		details->narrowed_ns = now_ns;
	if (now_ns - details->closed_ns >= CLOSE_NS && !anything_unsettled(details)) {
		ada_detail_close_ended(details);
		details->closed_ns = now_ns;
	}
	return changed | written;
}

void ada_details_finish(struct ada_details *details, uint64_t end_ns, enum ada_window_short why)
{
	if (details->finished)
		return;
	details->finished = true;
	ada_detail_rate(details, end_ns);
	ada_detail_write_late(details);
	if (window_begin(details))
		ada_marks_finish(details->marks, end_ns);
	resolve_own(details);
	ada_detail_holes(details, UINT64_MAX - 1, true); /* while windows are open: ending them sets what is left */
	ada_windows_end(details->windows, end_ns, why);
	ada_detail_write(details, UINT64_MAX - 1);
	ada_detail_keep_metrics(details);
	ada_detail_close_all(details);
	ada_spool_close(details->spool);
	details->spool = NULL;
	details->drain->options.details = NULL;
}

void ada_details_close(struct ada_details *details)
{
	if (!details)
		return;
	for (uint32_t i = 0; i < details->threads.count; i++) {
		if (details->threads.items[i].writer)
			atf_detail_writer_abandon(details->threads.items[i].writer);
		ada_array_free(&details->threads.items[i].places);
		ada_array_free(&details->threads.items[i].shares);
	}
	ada_array_free(&details->threads);
	ada_array_free(&details->open_marks);
	ada_array_free(&details->losses);
	ada_spool_close(details->spool);
	if (details->marks)
		ada_marks_close(details->marks);
	if (details->windows)
		ada_windows_close(details->windows);
	details->drain->options.details = NULL;
	free(details);
}
