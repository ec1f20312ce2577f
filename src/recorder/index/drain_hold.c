#include "recorder/index/drain_hold.h"
#include <errno.h>
#include <string.h>
#include "base/directory.h"
#include "recorder/bound/bound.h"
#include "recorder/index/packers.h"
#include "recorder/index/segment_parts.h"
#include "recorder/index/sink.h"
#include "recorder/index/trouble.h"

/* Events that found no room, and threads that waited for some. */
static uint64_t pool_misses(const struct ada_drain *drain)
{
	const struct ada_segment *segment = drain->segment;
	uint32_t count = ada_segment_thread_count(segment);
	uint64_t misses = __atomic_load_n(&segment->shm->waits, __ATOMIC_RELAXED) -
			  __atomic_load_n(&segment->shm->memory_waits, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < count; i++)
		misses += __atomic_load_n(&segment->threads[i].lost, __ATOMIC_RELAXED);
	return misses;
}

static void stop(struct ada_drain *drain)
{
	const struct ada_trouble *trouble = ada_sink_story(drain->options.patient);

	char shown[PATH_MAX];

	drain->stopped_ns = ada_clock_boottime_ns();
	ada_error_set(&drain->error, -trouble->error, "%s: %s for %.1f s, until the memory for events was used up",
		      ada_directory_shown(drain->directory, shown), strerror(-trouble->error),
		      (double)(drain->stopped_ns - trouble->since_ns) / 1e9);
	__atomic_store_n(&drain->segment->shm->stop, 1, __ATOMIC_RELAXED);
	ada_segment_tell(drain->segment);
}

#define EVENTS_A_BYTE 20u /* bytes of events that come to a byte of a file, at worst */

/* --disk-limit is reached, with what is to be packed yet. */
static bool is_full(const struct ada_drain *drain)
{
	const struct ada_lane_options *options = &drain->options;

	return ada_bound_is_near(options->bound) && options->packers &&
	       ada_bound_is_full(options->bound, ada_packers_queued(options->packers) / EVENTS_A_BYTE);
}

bool ada_drain_holds(struct ada_drain *drain)
{
	uint64_t misses;

	if (!drain->failed && is_full(drain)) {
		drain->misses = pool_misses(drain); /* these are no reason to stop: there is room again in a moment */
		return drain->holding = true;
	}
	if (drain->failed || !ada_sink_troubled(drain->options.patient)) {
		drain->holding = false;
		return false;
	}
	misses = pool_misses(drain);
	if (!drain->holding) {
		drain->misses = misses;
		ada_segment_tell(drain->segment); /* whoever waits already finds no chunk, and begins another wait, which counts */
	}
	drain->holding = true;
	if (misses != drain->misses && !drain->stopped_ns && drain->segment->shm->index_mode == ADA_INDEX_STREAMING)
		stop(drain);
	return true;
}

bool ada_drain_later(const struct ada_drain *drain, int status)
{
	return status &&
	       (ada_sink_trouble(drain->options.patient, status) || (status == -EAGAIN && ada_sink_troubled(drain->options.patient)));
}
