#include "recorder/session/aging.h"
#include "base/file.h"
#include "base/units.h"
#include "recorder/detail/detail.h"
#include "recorder/host/say.h"
#include "recorder/session/manifest.h"
#include "recorder/state/provider.h"

#define MANIFEST_NS 2000000000ull /* how often that of a process which has ended is written anew */
#define FEW_EVENTS 4096u	  /* a segment with fewer isn't closed for want of others that could go, */
#define LONG_NS 10000000000ull	  /* unless it has lasted so long */

static struct ada_lane *lane_of(const struct ada_provider *provider, const struct ada_bound_segment *segment)
{
	return provider && segment->thread < provider->drain.lanes.count ? &provider->drain.lanes.items[segment->thread] : NULL;
}

/* The lane says so first: from here on no detail of these segments is written. */
static bool let_go(struct ada_recorder *recorder, const struct ada_bound_segment *segment)
{
	struct ada_provider *provider = ada_provider_at(recorder, segment->provider);
	struct ada_lane *lane = lane_of(provider, segment);
	const struct ada_bound_job *job;
	char directory[PATH_MAX];

	if (!lane || ada_path(directory, "%s/thread_%u", provider->drain.directory, segment->thread))
		return false;
	job = ada_bound_go(recorder->bound, directory, lane->thread_id);
	lane->leaving = job->border;
	if (provider->details)
		ada_details_leave(provider->details, job->segment.thread, job->border);
	return true;
}

static void take_gone(struct ada_recorder *recorder, const struct ada_bound_job *job)
{
	struct ada_provider *provider = ada_provider_at(recorder, job->segment.provider);
	struct ada_lane *lane = lane_of(provider, &job->segment);

	if (job->status && job->status != recorder->fold_told)
		ada_say("ada: %s: its oldest segments can't go: %s\n", recorder->session.directory, job->error.text);
	recorder->fold_told = job->status;
	if (!lane || job->status)
		return;
	ada_lane_aged(lane, &provider->drain.options, job->border, job->last, job->folded.aged);
	provider->aged_ns = job->folded.until_ns > provider->aged_ns ? job->folded.until_ns : provider->aged_ns;
	__atomic_store_n(&provider->changed, true, __ATOMIC_RELEASE);
}

/* The loop writes the others'. */
static void keep_last_manifest(struct ada_provider *provider, uint64_t now_ns)
{
	if (!provider->finalized || now_ns - provider->manifest_ns < MANIFEST_NS || ada_paper_pending(&provider->manifest) ||
	    !__atomic_exchange_n(&provider->changed, false, __ATOMIC_ACQ_REL))
		return;
	provider->manifest_ns = now_ns;
	ada_manifest_write(provider);
}

static bool has_lasted(const struct ada_lane *lane, uint64_t ns, uint64_t now_ns)
{
	return now_ns > lane->segment_ns && now_ns - lane->segment_ns > ns;
}

static void look_at(struct ada_recorder *recorder, struct ada_drain *drain, struct ada_lane *lane, uint64_t now_ns)
{
	uint64_t count = lane->segments.count ? lane->segments.items[lane->segments.count - 1] : 0;
	bool is_short = ada_bound_is_short(recorder->bound) && (count >= FEW_EVENTS || has_lasted(lane, LONG_NS, now_ns));

	if (count && (is_short || has_lasted(lane, ada_bound_segment_ns(recorder->bound), now_ns)))
		ada_drain_roll(drain, lane);
}

/* How many threads have had events since the last look. */
static size_t look_at_all(struct ada_recorder *recorder, struct ada_drain *drain, uint64_t now_ns)
{
	size_t active = 0;

	for (size_t i = 0; i < drain->lanes.count; i++) {
		struct ada_lane *lane = &drain->lanes.items[i];

		active += !lane->closed && lane->events != lane->events_seen;
		lane->events_seen = lane->events;
		if (!lane->closed)
			look_at(recorder, drain, lane, now_ns);
	}
	return active;
}

/* All that isn't events is more than the limit. */
static void tell_too_little(struct ada_recorder *recorder)
{
	struct ada_bound_state state = ada_bound_state(recorder->bound);
	char limit[ADA_UNITS_TEXT], bytes[ADA_UNITS_TEXT];

	if (recorder->bound_told || !ada_bound_is_helpless(recorder->bound) || state.bytes <= state.disk_limit)
		return;
	recorder->bound_told = true;
	ada_say("ada: %s: has %s, more than the %s of --disk-limit, though all is gone that can: names of functions and sums take it\n",
		recorder->session.directory, ada_format_size(state.bytes, bytes), ada_format_size(state.disk_limit, limit));
}

void ada_aging_turn(struct ada_recorder *recorder, uint64_t now_ns, bool quiet)
{
	const struct ada_bound_segment *segment;
	const struct ada_bound_job *job;
	struct ada_provider *provider;
	size_t active = 0;

	if (!recorder->bound)
		return;
	while ((job = ada_bound_done(recorder->bound)))
		take_gone(recorder, job);
	while ((segment = ada_bound_next(recorder->bound, now_ns)) && let_go(recorder, segment))
		;
	ada_bound_send(recorder->bound);
	for (size_t i = 0; quiet && (provider = ada_provider_at(recorder, i)); i++) {
		if (!provider->ended)
			active += look_at_all(recorder, &provider->drain, now_ns);
		keep_last_manifest(provider, now_ns);
	}
	if (!quiet)
		return;
	ada_bound_share(recorder->bound, active);
	ada_bound_looked(recorder->bound);
	tell_too_little(recorder);
}

void ada_aging_end(struct ada_recorder *recorder)
{
	const struct ada_bound_job *job;
	struct ada_provider *provider;

	if (!recorder->bound)
		return;
	ada_bound_wait(recorder->bound);
	while ((job = ada_bound_done(recorder->bound)))
		take_gone(recorder, job);
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		keep_last_manifest(provider, UINT64_MAX);
}
