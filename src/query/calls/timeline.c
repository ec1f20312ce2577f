/* The merged timeline: libatf's merge, and the pairing of each thread's calls beside it. */
#include "query/calls/timeline.h"
#include <errno.h>
#include <stdlib.h>
#include "base/interrupt.h"
#include "query/calls/calls.h"
#include "query/calls/stack.h"

#define LOOK_EVENTS (1u << 14) /* between two looks around */

struct track {	       /* a thread that has events */
	size_t number; /* in the selection */
	struct ada_calls calls;
	bool asked;
	struct ada_stack open; /* once it was asked: the calls that are open at the thread's end, of open_depth and deeper */
	uint32_t open_depth;
	size_t told_open; /* of them, those that lie before what was read */
};

struct ada_timeline {
	const struct ada_selection *selection;
	struct atf_merge *merge;
	struct atf_thread **sources; /* of the tracks, for the merge */
	struct track *tracks;
	size_t track_count;
	uint64_t first, end;	 /* positions that are told */
	uint64_t *lost;		 /* by thread of the selection */
	uint64_t events, passed; /* told, and passed over */
	uint64_t last_ns;	 /* of those read */
	bool durations, ended;
	struct ada_moment *moment; /* being filled: where `ended` puts the duration */
};

/* Only the call that the current event ends has that event's position; others end unknown, and in no moment. */
static void take_duration(void *context, const struct ada_call *call)
{
	struct ada_timeline *timeline = context;

	if (call->across_loss || (call->outcome != ADA_OUTCOME_RETURN && call->outcome != ADA_OUTCOME_EXCEPTION))
		return;
	timeline->moment->duration_known = true;
	timeline->moment->duration_ns = ada_call_duration(call);
}

/* Reads as far back from the thread's end as a call of that depth asks. Of a thread that lost events nobody knows which of its calls are still
 * the same. */
static int find_open(struct track *track, const struct ada_thread *thread, uint32_t depth)
{
	int result = 0;

	if (!track->asked && thread->lost <= thread->overwritten)
		result = ada_stack_at_end(&track->open, thread, &track->open_depth);
	track->asked = true;
	if (result || depth >= track->open_depth)
		return result;
	ada_stack_close(&track->open);
	track->open_depth = 0;
	track->told_open = 0;
	return ada_stack_at(&track->open, thread, thread->count);
}

/* Without memory it isn't told that it is open. */
static void take_open(struct track *track, struct ada_moment *moment)
{
	const struct ada_frame *frame;
	uint64_t end_ns;

	if (find_open(track, moment->thread, moment->event->call_depth))
		return;
	while (track->told_open < track->open.frames.count && track->open.frames.items[track->told_open].position < moment->position)
		track->told_open++;
	frame = &track->open.frames.items[track->told_open];
	if (track->told_open == track->open.frames.count || frame->position != moment->position)
		return;
	end_ns = ada_process_end_ns(moment->thread->process);
	moment->open = true;
	moment->duration_ns = end_ns > frame->start_ns ? end_ns - frame->start_ns : 0;
}

int ada_timeline_open(struct ada_timeline **opened, const struct ada_selection *selection, bool durations, struct ada_error *error)
{
	struct ada_timeline *timeline = calloc(1, sizeof *timeline);
	size_t count = selection->threads.count;

	if (!timeline)
		goto no_memory;
	timeline->selection = selection;
	timeline->durations = durations;
	timeline->end = UINT64_MAX;
	timeline->sources = calloc(count + 1, sizeof *timeline->sources);
	timeline->tracks = calloc(count + 1, sizeof *timeline->tracks);
	timeline->lost = calloc(count + 1, sizeof *timeline->lost);
	if (!timeline->sources || !timeline->tracks || !timeline->lost)
		goto no_memory;
	for (size_t i = 0; i < count; i++) {
		struct track *track = &timeline->tracks[timeline->track_count];

		if (!selection->threads.items[i]->events)
			continue;
		track->number = i;
		ada_calls_open(&track->calls, &(struct ada_calls_receiver){ .context = timeline, .ended = take_duration });
		timeline->sources[timeline->track_count++] = selection->threads.items[i]->events;
	}
	if (atf_merge_open(&timeline->merge, timeline->sources, timeline->track_count, selection->from_ns, selection->to_ns))
		goto no_memory;
	*opened = timeline;
	return 0;
no_memory:
	ada_timeline_close(timeline);
	return ada_error_system(error, ENOMEM, "%s", selection->session->path);
}

void ada_timeline_narrow(struct ada_timeline *timeline, uint64_t first, uint64_t end)
{
	timeline->first = first;
	timeline->end = end;
}

/* False: the answer ends here. */
static bool look_around(const struct ada_timeline *timeline)
{
	uint64_t read = timeline->events + timeline->passed;

	if (read % LOOK_EVENTS || !read)
		return true;
	if (ada_interrupted())
		return false;
	if (timeline->selection->progress)
		ada_progress_at(timeline->selection->progress, read);
	return true;
}

bool ada_timeline_next(struct ada_timeline *timeline, struct ada_moment *moment)
{
	struct track *track;
	bool told;
	size_t number;

	do {
		if (!look_around(timeline))
			return false;
		if (!atf_merge_next(timeline->merge, &number, &moment->position, &moment->event)) {
			timeline->ended = true;
			return false;
		}
		told = moment->position >= timeline->first && moment->position < timeline->end;
		timeline->events += told;
		timeline->passed += !told;
		track = &timeline->tracks[number];
		moment->thread = timeline->selection->threads.items[track->number];
		moment->duration_known = moment->open = false;
		timeline->moment = moment;
		/* Without memory for a deeper stack, durations are what is missing, not events. */
		if (timeline->durations && ada_calls_feed(&track->calls, moment->event, moment->position))
			timeline->durations = false;
	} while (!told);
	timeline->last_ns = moment->event->timestamp_ns;
	if (timeline->durations && moment->event->event_kind == ADA_EVENT_CALL)
		take_open(track, moment);
	if (moment->event->event_kind == ADA_EVENT_LOST)
		timeline->lost[track->number] += moment->event->function_id;
	return true;
}

/* Of a timeline that wasn't read to its end: up to the last event read. */
struct ada_completeness ada_timeline_completeness(const struct ada_timeline *timeline)
{
	struct ada_selection selection = *timeline->selection;
	struct ada_completeness answer;

	if (!timeline->ended)
		selection.to_ns = timeline->last_ns + 1;
	answer = ada_selection_completeness(&selection, timeline->ended, timeline->events, timeline->lost);
	if (timeline->first || timeline->end != UINT64_MAX)
		answer.detail_coverage = ada_selection_coverage(&selection, timeline->first, timeline->end);
	return answer;
}

void ada_timeline_close(struct ada_timeline *timeline)
{
	if (!timeline)
		return;
	if (timeline->merge)
		atf_merge_close(timeline->merge);
	for (size_t i = 0; i < timeline->track_count; i++) {
		ada_calls_close(&timeline->tracks[i].calls);
		ada_stack_close(&timeline->tracks[i].open);
	}
	free(timeline->tracks);
	free(timeline->sources);
	free(timeline->lost);
	free(timeline);
}
