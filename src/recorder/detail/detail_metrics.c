/* Counts, rates, and what follows from them: sizes that would have sufficed. */
#include <stdio.h>
#include <string.h>
#include "base/units.h"
#include "recorder/detail/detail_state.h"

#define RATE_NS 100000000ull	/* how often the rate is measured */
#define ADVICE_NS 1000000000ull /* not before it has been seen for so long */
#define REACH_TIMES 2u		/* as far as the longest pre-roll: history that suffices. And no less than: */
#define REACH_NS 2000000000ull

static uint64_t power_of_two(double bytes)
{
	uint64_t size = ADA_DETAIL_BUFFER_MIN;

	while ((double)size < bytes && size < ADA_DETAIL_BUFFER_MAX)
		size *= 2;
	return size;
}

bool ada_details_reach(const struct ada_details *details, uint64_t now_ns)
{
	const struct ada_shm *shm = details->segment->shm;
	uint64_t horizon = __atomic_load_n(&shm->detail.horizon, __ATOMIC_RELAXED);
	uint64_t events = __atomic_load_n(&shm->detail.history, __ATOMIC_RELAXED) * ADA_DETAIL_EVENTS;
	uint64_t wanted_ns = REACH_TIMES * details->pre_ns > REACH_NS ? REACH_TIMES * details->pre_ns : REACH_NS;

	if (!horizon)
		return true; /* all that there was is still there */
	return details->pre_events <= events / REACH_TIMES && ada_detail_ns(details, horizon) + wanted_ns <= now_ns;
}

static void short_size(uint64_t bytes, char text[ADA_UNITS_TEXT])
{
	unsigned shift = bytes && bytes % (1u << 30) == 0 ? 30 : bytes % (1u << 20) == 0 ? 20 : 10;

	snprintf(text, ADA_UNITS_TEXT, "%llu%c", (unsigned long long)(bytes >> shift), shift == 30 ? 'G' : shift == 20 ? 'M' : 'K');
}

static void advise(struct ada_details *details, uint64_t now_ns)
{
	char now[ADA_UNITS_TEXT], then[ADA_UNITS_TEXT];
	uint64_t bytes = (uint64_t)details->segment->detail_chunks * details->segment->detail_chunk_bytes;
	double pre = (double)details->pre_ns / 1e9, holds = details->segment->detail_chunks / details->chunks_per_second;
	uint64_t asked;

	if (now_ns - details->options.start_ns < ADVICE_NS || holds >= pre)
		return;
	details->advised = true;
	asked = details->options.buffer_bytes ? details->options.buffer_bytes : bytes;
	short_size(asked, now);
	short_size(power_of_two((double)asked / holds * pre), then);
	snprintf(
		details->advice, sizeof details->advice,
		"at this rate --detail-buffer=%s holds %.3g s of detail, less than the pre-roll of %.3g s: --detail-buffer=%s would hold it",
		now, holds, pre, then);
}

void ada_detail_rate(struct ada_details *details, uint64_t now_ns)
{
	uint64_t sealed;
	double rate;

	if (now_ns - details->rate_ns < RATE_NS)
		return;
	sealed = __atomic_load_n(&details->segment->shm->detail.sealed_head, __ATOMIC_RELAXED);
	rate = sealed < details->rate_chunks ? 0 : (double)(sealed - details->rate_chunks) * 1e9 / (double)(now_ns - details->rate_ns);
	if (details->rate_ns)
		details->chunks_per_second = details->chunks_per_second ? (details->chunks_per_second + rate) / 2 : rate;
	details->rate_ns = now_ns;
	details->rate_chunks = sealed;
	if (!details->advised && details->segment->detail_mode == ADA_DETAIL_CIRCULAR && details->chunks_per_second > 0 &&
	    sealed > details->segment->detail_chunks)
		advise(details, now_ns);
}

const char *ada_details_advice(struct ada_details *details)
{
	if (!*details->advice)
		return NULL;
	snprintf(details->advice_told, sizeof details->advice_told, "%s", details->advice);
	*details->advice = 0;
	return details->advice_told;
}

/* How many threads may have a chunk of the buffer open at a time. Threads that only ever needed the small chunks on top of the buffer
 * don't count. */
static uint64_t holders(const struct ada_details *details)
{
	const struct ada_segment *segment = details->segment;
	uint64_t most = ada_segment_thread_count(segment), count = ADA_THREADS_LARGE;

	if (!segment->detail_small_chunks)
		return most;
	for (size_t i = 0; i < details->drain->lanes.count; i++)
		count += details->drain->lanes.items[i].next_seq > ADA_SMALL_A_THREAD * ADA_DETAIL_SMALL_EVENTS;
	return count < most ? count : most;
}

/* The size of a pool that can hold so many chunks: each thread has one more open, and agents keep a quarter free
 * (src/agent/record/detail.c). Of a pre-roll in events that is gone nobody knows when it began: it asks for the chunks of its events. */
static uint64_t pool_bytes(const struct ada_details *details, const struct ada_window *window, double chunks)
{
	const struct ada_segment *segment = details->segment;
	double asked = (double)window->pre_events / ADA_CHUNK_EVENTS;
	uint64_t had = (uint64_t)segment->detail_chunks * segment->detail_chunk_bytes;
	uint64_t bytes;

	had = had > details->options.buffer_bytes ? had : details->options.buffer_bytes;
	chunks = (chunks > asked ? chunks : asked) + (double)holders(details) + 1;
	if (segment->detail_mode == ADA_DETAIL_CIRCULAR)
		chunks = chunks * 4 / 3 + 1;
	bytes = power_of_two(chunks * segment->detail_chunk_bytes);
	return bytes > had ? bytes : power_of_two((double)had + 1);
}

static uint64_t asked_start(const struct ada_details *details, const struct ada_window *window)
{
	return window->asked_start_ns > details->options.start_ns ? window->asked_start_ns : details->options.start_ns;
}

void ada_detail_size(const struct ada_details *details, struct ada_window *window)
{
	uint64_t end = window->marked_ns;
	double chunks;

	if (!(window->shorts & (ADA_SHORT_OVERRUN | ADA_SHORT_STARVED)))
		return;
	if (window->shorts & ADA_SHORT_STARVED && window->asked_end_ns != ADA_WINDOW_OPEN)
		end = window->asked_end_ns;
	chunks = ada_detail_chunks(details, asked_start(details, window), end);
	if (chunks > 0)
		window->sufficient_bytes = pool_bytes(details, window, chunks);
}

void ada_detail_suffice(struct ada_details *details)
{
	double rate = details->chunks_per_second;

	if (rate <= 0) { /* the process lived too short to measure the rate */
		uint64_t now = ada_clock_boottime_ns(),
			 sealed = __atomic_load_n(&details->segment->shm->detail.sealed_head, __ATOMIC_RELAXED);
		double life = (double)(now - details->options.start_ns) / 1e9;

		rate = life > 0 ? (double)sealed / life : 0;
	}
	for (size_t i = ada_windows_count(details->windows); i--;) {
		struct ada_window *window = ada_windows_at(details->windows, i);
		uint64_t start, end;
		double seconds;

		if (window->settled)
			break;
		if (!(window->shorts & (ADA_SHORT_OVERRUN | ADA_SHORT_STARVED)))
			continue;
		start = asked_start(details, window);
		end = window->shorts & ADA_SHORT_STARVED ? window->asked_end_ns : window->marked_ns;
		if (end == ADA_WINDOW_OPEN)
			end = ada_clock_boottime_ns();
		seconds = end > start ? (double)(end - start) / 1e9 : 0;
		window->sufficient_bytes = pool_bytes(details, window, rate * seconds);
	}
}

const char *ada_details_failure(const struct ada_details *details)
{
	return details->unwritten ? details->error.text : NULL;
}

uint64_t ada_details_marked_ns(const struct ada_details *details)
{
	uint64_t ns = details->marks ? ada_marks_last(details->marks).ns : 0;

	return ns > details->own_last.ns ? ns : details->own_last.ns;
}

void ada_detail_keep_metrics(struct ada_details *details)
{
	const struct ada_shm *shm = details->segment->shm;
	struct detail_pool pool = ada_detail_pool(details);
	uint64_t horizon = __atomic_load_n(&shm->detail.horizon, __ATOMIC_RELAXED);
	struct ada_mark_last last = details->marks ? ada_marks_last(details->marks) : (struct ada_mark_last){ 0 };
	struct ada_detail_metrics *metrics = &details->metrics;
	uint64_t oldest, now;

	metrics->marked_events_detected = __atomic_load_n(&shm->marks.detected, __ATOMIC_RELAXED) + details->own_marks;
	metrics->windows_discarded = __atomic_load_n(&shm->detail.discarded, __ATOMIC_RELAXED);
	metrics->events_processed = metrics->dropped_events = 0;
	for (size_t i = 0; i < details->drain->lanes.count; i++) {
		const struct ada_lane *lane = &details->drain->lanes.items[i];
		const struct ada_shm_thread *thread = ada_drain_thread(details->drain, lane->id);

		metrics->events_processed += lane->events;
		metrics->dropped_events += thread ? __atomic_load_n(&thread->detail_dropped, __ATOMIC_RELAXED) : 0;
	}
	metrics->last_mark_ns = last.ns > details->own_last.ns ? last.ns : details->own_last.ns;
	metrics->last_mark_rules = last.ns > details->own_last.ns ? last.rules : details->own_last.rules;
	metrics->last_mark_version = last.ns > details->own_last.ns ? last.version : details->own_last.version;
	metrics->pool_use = (double)(pool.pinned + pool.open) / details->segment->detail_chunks;
	oldest = horizon ? ada_detail_ns(details, horizon) : details->options.start_ns;
	now = ada_clock_boottime_ns();
	metrics->oldest_history_ns = now > oldest ? (double)(now - oldest) : 0;
}

void ada_details_metrics(const struct ada_details *details, struct ada_detail_metrics *metrics)
{
	size_t count;
	const struct ada_window *last;

	if (!details->finished)
		ada_detail_keep_metrics((struct ada_details *)details);
	*metrics = details->metrics;
	metrics->persisted_events = details->persisted;
	metrics->unwritten_events = details->unwritten;
	metrics->selective_dumps_performed = details->settled;
	metrics->pool_use_at_dump = details->dumps ? details->pool_use_sum / (double)details->dumps : 0;
	metrics->avg_window_duration_ns = details->settled ? details->settled_ns / details->settled : 0;
	metrics->avg_events_per_window = details->settled ? details->settled_events / details->settled : 0;
	metrics->window_start_ns = metrics->window_events = 0;
	count = ada_windows_count(details->windows);
	last = count ? ada_windows_at(details->windows, count - 1) : NULL;
	if (last && !last->closed) {
		metrics->window_start_ns = last->start_ns;
		metrics->window_events = last->event_count;
	}
}

uint64_t ada_details_thread_events(const struct ada_details *details, uint32_t thread)
{
	return thread < details->threads.count ? details->threads.items[thread].persisted : 0;
}
