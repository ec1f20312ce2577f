#include "recorder/session/aging.h"
#include "base/file.h"
#include "base/units.h"
#include "recorder/detail/detail.h"
#include "recorder/host/say.h"
#include "recorder/sched/samples.h"
#include "recorder/sched/sched.h"
#include "recorder/session/manifest.h"
#include "recorder/state/provider.h"

#define MANIFEST_NS 2000000000ull /* how often that of a process which has ended is written anew */
#define SHORT_NS 20000000ull	  /* how often open files are looked at while events wait for room, and how much detail is in them */
#define FEW_EVENTS 4096u	  /* a segment with fewer isn't closed for want of others that could go, */
#define SETTLES 64		  /* rounds in the end: each lets sixteen threads' oldest segments go */
#define LONG_NS 10000000000ull	  /* unless it has lasted so long */

static struct ada_lane *lane_of(const struct ada_provider *provider, const struct ada_bound_segment *segment)
{
	return provider && segment->thread < provider->drain.lanes.count ? &provider->drain.lanes.items[segment->thread] : NULL;
}

static bool is_wanted(const struct ada_provider *provider, const struct ada_bound_segment *segment)
{
	return provider && provider->details && ada_details_want(provider->details, segment->start_ns, segment->end_ns);
}

/* The lane says so first: from here on no detail of these segments is written. */
static bool let_go(struct ada_recorder *recorder, const struct ada_bound_segment *segment)
{
	struct ada_provider *provider = ada_provider_at(recorder, segment->provider);
	struct ada_lane *lane = lane_of(provider, segment);
	struct ada_bound_job *job;
	char directory[PATH_MAX];

	if (!lane || ada_path(directory, "%s/thread_%u", provider->drain.directory, segment->thread))
		return false;
	job = ada_bound_go(recorder->bound, directory, lane->thread_id);
	for (uint32_t i = 0; i < job->count; i++) {
		job->keeps[i] = is_wanted(provider, &job->segments[i]);
		ada_lane_keep(lane, job->segments[i].segment, job->keeps[i]);
	}
	lane->leaving = job->border;
	if (provider->details)
		ada_details_leave(provider->details, job->segments[0].thread, job->border);
	return true;
}

/* One that was kept, or its detail alone. */
static bool drop(struct ada_recorder *recorder, enum ada_bound_what what, const struct ada_bound_segment *segment)
{
	struct ada_provider *provider = ada_provider_at(recorder, segment->provider);
	struct ada_lane *lane = lane_of(provider, segment);
	const struct ada_bound_segment gone = *segment;
	char directory[PATH_MAX];

	if (!lane || ada_path(directory, "%s/thread_%u", provider->drain.directory, gone.thread) ||
	    !ada_bound_drop(recorder->bound, what, segment, directory, lane->thread_id))
		return false;
	if (what == ADA_BOUND_DROP)
		ada_lane_keep(lane, gone.segment, false);
	if (provider->details)
		ada_details_drop(provider->details, gone.thread, gone.segment);
	__atomic_store_n(&provider->changed, true, __ATOMIC_RELEASE);
	return true;
}

static enum ada_roll_wish wish_of_any(void *context, uint64_t from_ns, uint64_t to_ns)
{
	enum ada_roll_wish wish = ADA_ROLL_GOES;
	struct ada_provider *provider;

	for (size_t i = 0; (provider = ada_provider_at(context, i)); i++) {
		if (!provider->details || !ada_details_want(provider->details, from_ns, to_ns))
			continue;
		wish = ADA_ROLL_AROUND;
		if (ada_details_own(provider->details, from_ns, to_ns))
			return ADA_ROLL_OWN;
	}
	return wish;
}

/* What is known of the scheduler around windows stays with them. */
static void answer_lanes(struct ada_recorder *recorder, bool anew)
{
	const struct ada_roll_wants wants = { .wants = wish_of_any, .context = recorder, .now_ns = ada_clock_boottime_ns(), .anew = anew };

	ada_sched_answer(recorder->sched, &wants);
	ada_samples_answer(recorder->samples, &wants);
}

/* Gives the oldest windows up while there is too much of what they keep; what no other wants goes. */
static void drop_kept(struct ada_recorder *recorder)
{
	const struct ada_bound_segment *oldest, *segment;
	struct ada_provider *provider;

	if ((oldest = ada_bound_kept_over(recorder->bound))) {
		provider = ada_provider_at(recorder, oldest->provider);
		if (provider && provider->details)
			ada_details_give_up(provider->details, oldest->start_ns, oldest->end_ns);
		recorder->sweeps_kept = true;
		answer_lanes(recorder, true);
	}
	for (size_t i = 0; recorder->sweeps_kept && (segment = ada_bound_kept(recorder->bound, i));)
		if (is_wanted(ada_provider_at(recorder, segment->provider), segment))
			i++;
		else if (!drop(recorder, ADA_BOUND_DROP, segment))
			return; /* the others in the next turn */
	recorder->sweeps_kept = false;
}

/* Bytes of all detail files that are being written. */
static uint64_t detail_open(struct ada_recorder *recorder)
{
	struct ada_provider *provider;
	uint64_t bytes = 0;
	uint32_t segment;

	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		for (size_t j = 0; provider->details && !provider->ended && j < provider->drain.lanes.count; j++)
			bytes += ada_details_open_bytes(provider->details, provider->drain.lanes.items[j].id, &segment);
	return bytes;
}

/* The oldest detail goes, where there is more than --detail-limit. What was open when that was last looked at may be closed by now: counted
 * twice, it would cost newer windows theirs. */
static void drop_detail(struct ada_recorder *recorder)
{
	const struct ada_bound_segment *oldest;

	if (!ada_bound_detail_over(recorder->bound, recorder->detail_open))
		return;
	recorder->detail_open = detail_open(recorder);
	while ((oldest = ada_bound_detail_over(recorder->bound, recorder->detail_open)) && drop(recorder, ADA_BOUND_DETAIL, oldest))
		;
}

static void take_gone(struct ada_recorder *recorder, const struct ada_bound_job *job)
{
	struct ada_provider *provider = ada_provider_at(recorder, job->segments[0].provider);
	struct ada_lane *lane = lane_of(provider, &job->segments[0]);

	if (job->status && job->status != recorder->fold_told)
		ada_say("ada: %s: its oldest segments can't go: %s\n", recorder->session.directory, job->error.text);
	recorder->fold_told = job->status;
	if (!lane || job->status)
		return;
	for (size_t i = 0; provider->details && i < job->records.count; i++)
		ada_details_gone(provider->details, job->segments[0].thread, job->records.items[i].window, job->records.items[i].count);
	__atomic_store_n(&provider->changed, true, __ATOMIC_RELEASE);
	if (job->what != ADA_BOUND_AGE)
		return;
	for (uint32_t i = 0; i < job->count; i++)
		ada_lane_keep(lane, job->segments[i].segment, job->keeps[i]);
	ada_lane_aged(lane, &provider->drain.options, job->border, job->last, job->folded.aged);
	provider->aged_ns = job->folded.until_ns > provider->aged_ns ? job->folded.until_ns : provider->aged_ns;
}

/* The loop writes the others'. */
static void keep_last_manifest(struct ada_provider *provider, uint64_t now_ns, bool ends)
{
	if (!provider->finalized || (!ends && now_ns - provider->manifest_ns < MANIFEST_NS) || ada_paper_pending(&provider->manifest) ||
	    !__atomic_exchange_n(&provider->changed, false, __ATOMIC_ACQ_REL))
		return;
	provider->manifest_ns = now_ns;
	ada_manifest_write(provider);
}

static bool has_lasted(const struct ada_lane *lane, uint64_t ns, uint64_t now_ns)
{
	return now_ns > lane->segment_ns && now_ns - lane->segment_ns > ns;
}

/* Bytes of the detail that goes with the segment being written. */
static uint64_t detail_of(const struct ada_drain *drain, const struct ada_lane *lane)
{
	uint32_t segment = 0;
	uint64_t bytes = drain->options.details ? ada_details_open_bytes(drain->options.details, lane->id, &segment) : 0;

	return segment + 1 == lane->segments.count ? bytes : 0;
}

/* `whole`: not at its detail alone. */
static void look_at(struct ada_recorder *recorder, struct ada_drain *drain, struct ada_lane *lane, uint64_t now_ns, bool whole)
{
	uint64_t count = lane->segments.count ? lane->segments.items[lane->segments.count - 1] : 0;
	uint64_t detail = detail_of(drain, lane);
	bool is_short = ada_bound_is_short(recorder->bound) && (count >= FEW_EVENTS || has_lasted(lane, LONG_NS, now_ns));

	if (count && (detail >= ada_bound_detail_bytes(recorder->bound, recorder->active) ||
		      (whole && (is_short || has_lasted(lane, ada_bound_segment_ns(recorder->bound), now_ns)))))
		ada_drain_roll(drain, lane);
}

static void look_at_all(struct ada_recorder *recorder, uint64_t now_ns, bool whole)
{
	struct ada_provider *provider;

	recorder->looked_ns = now_ns;
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		for (size_t j = 0; !provider->ended && j < provider->drain.lanes.count; j++)
			if (!provider->drain.lanes.items[j].closed)
				look_at(recorder, &provider->drain, &provider->drain.lanes.items[j], now_ns, whole);
}

/* How many threads have had events since it was last counted; `steady`: also the time before. */
static size_t count_active(struct ada_recorder *recorder, size_t *steady)
{
	struct ada_provider *provider;
	size_t active = 0;

	*steady = 0;
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		for (size_t j = 0; !provider->ended && j < provider->drain.lanes.count; j++) {
			struct ada_lane *lane = &provider->drain.lanes.items[j];

			bool is_active = !lane->closed && lane->events != lane->events_seen;

			active += is_active;
			*steady += is_active && lane->was_active;
			lane->was_active = is_active;
			lane->events_seen = lane->events;
		}
	return active;
}

/* The first time is told, and session.json has it; it grows with what can't go. */
static void raise_limit(struct ada_recorder *recorder)
{
	struct ada_bound_state state;
	char asked[ADA_UNITS_TEXT], lasting[ADA_UNITS_TEXT], limit[ADA_UNITS_TEXT];

	if (!ada_bound_raise(recorder->bound))
		return;
	ada_session_update(recorder);
	if (recorder->bound_told)
		return;
	recorder->bound_told = true;
	state = ada_bound_state(recorder->bound);
	ada_say("ada: %s: --disk-limit=%s is too little: names of functions and sums of threads take %s that can't go, and %llu threads write; it "
		"may have %s now, and more as these grow\n",
		recorder->session.directory, ada_format_size(recorder->options->disk_limit, asked), ada_format_size(state.lasting, lasting),
		(unsigned long long)state.steady, ada_format_size(state.disk_limit, limit));
}

static void take_all_gone(struct ada_recorder *recorder)
{
	const struct ada_bound_job *job;

	while ((job = ada_bound_done(recorder->bound)))
		take_gone(recorder, job);
}

static void send_due(struct ada_recorder *recorder, uint64_t now_ns)
{
	const struct ada_bound_segment *segment;

	while ((segment = ada_bound_next(recorder->bound, now_ns)) && let_go(recorder, segment))
		;
	drop_kept(recorder);
	drop_detail(recorder);
	ada_bound_send(recorder->bound);
}

void ada_aging_turn(struct ada_recorder *recorder, uint64_t now_ns, bool quiet)
{
	struct ada_provider *provider;
	size_t steady;
	bool due = now_ns - recorder->looked_ns > SHORT_NS, waits = due && ada_bound_is_full(recorder->bound, 0);

	if (!recorder->bound)
		return;
	recorder->detail_open = quiet ? detail_open(recorder) : recorder->detail_open;
	take_all_gone(recorder);
	answer_lanes(recorder, false);
	send_due(recorder, now_ns);
	if (quiet || waits || (due && recorder->options->detail_limit))
		look_at_all(recorder, now_ns, quiet || waits);
	for (size_t i = 0; quiet && (provider = ada_provider_at(recorder, i)); i++)
		keep_last_manifest(provider, now_ns, false);
	if (quiet) {
		recorder->active = count_active(recorder, &steady);
		ada_bound_share(recorder->bound, recorder->active, steady);
	}
	if (quiet || waits)
		ada_bound_looked(recorder->bound);
	raise_limit(recorder);
}

void ada_aging_settle(struct ada_recorder *recorder)
{
	if (!recorder->bound)
		return;
	recorder->detail_open = 0;
	for (int i = 0; i < SETTLES && (ada_bound_is_near(recorder->bound) || ada_bound_detail_over(recorder->bound, 0)); i++) {
		take_all_gone(recorder);
		send_due(recorder, ada_clock_boottime_ns());
		ada_bound_wait(recorder->bound);
	}
	ada_aging_end(recorder);
}

void ada_aging_end(struct ada_recorder *recorder)
{
	struct ada_provider *provider;

	if (!recorder->bound)
		return;
	ada_bound_wait(recorder->bound);
	take_all_gone(recorder);
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		keep_last_manifest(provider, ada_clock_boottime_ns(), true);
}
