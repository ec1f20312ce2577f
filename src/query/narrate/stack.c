/* Open calls at any event, for many questions about long threads: what ada_stack_at answers, by the same rule, but it reads back
 * to the thread's beginning each time where its outermost call never ended. Here one pass over the thread, as far as anyone
 * asks, leaves the open calls of every STEP-th event behind; a question reads back to there. */
#include <errno.h>
#include "query/narrate/internal.h"

#define STEP (1u << 16)
#define FRAMES_MAX (1u << 20)	/* of all checkpoints of a thread: 32 MiB; then questions read further back */

static struct ada_stack_track *track_of(struct ada_story *story, const struct ada_thread *thread)
{
	size_t number = thread - story->session->threads.items;

	while (story->tracks.count < story->session->threads.count)
		if (ada_array_push(&story->tracks, (struct ada_stack_track){}))
			return NULL;
	return &story->tracks.items[number];
}

/* An event at depth d: of the open calls before it none at d or deeper is open behind it. */
static int feed(struct ada_stack_track *track, const struct ada_event *event, uint64_t position)
{
	if (event->event_kind < ADA_EVENT_CALL || event->event_kind > ADA_EVENT_EXCEPTION)
		return 0;
	while (track->open.count && track->open.items[track->open.count - 1].depth >= event->call_depth)
		track->open.count--;
	if (event->event_kind != ADA_EVENT_CALL)
		return 0;
	return ada_array_push(&track->open, (struct ada_frame){ position, event->function_id, event->timestamp_ns, event->call_depth });
}

static int keep(struct ada_stack_track *track)
{
	struct ada_checkpoint checkpoint = { track->position, track->frames.count, track->open.count };

	if (track->frames.count + track->open.count > FRAMES_MAX)
		return 0;
	for (size_t i = 0; i < track->open.count; i++)
		if (ada_array_push(&track->frames, track->open.items[i]))
			return -ENOMEM;
	return ada_array_push(&track->checkpoints, checkpoint);
}

/* Reads on to the last multiple of STEP that is not behind `position`. */
static int read_to(struct ada_stack_track *track, const struct ada_thread *thread, uint64_t position)
{
	int result = 0;

	while (!result && track->position + STEP <= position) {
		uint64_t end = track->position + STEP, from = track->position, count;

		while (track->position < end && !result) {
			const struct ada_event *events = atf_thread_run(thread->events, track->position, &count);

			count = count > end - track->position ? end - track->position : count;
			for (uint64_t i = 0; i < count && !result; i++)
				result = feed(track, &events[i], track->position + i);
			track->position += count;
		}
		atf_thread_release(thread->events, from, end);
		if (!result)
			result = keep(track);
	}
	return result;
}

/* From `position` back to the checkpoint, then what is open there; innermost first. */
static int read_back(struct ada_stack *stack, const struct ada_thread *thread, uint64_t position, const struct ada_stack_track *track,
		     const struct ada_checkpoint *checkpoint, uint32_t limit)
{
	uint64_t stop = checkpoint ? checkpoint->position : 0;
	int result = 0;

	while (position-- > stop && limit && !result) {
		const struct ada_event *event = atf_thread_get(thread->events, position);

		if (event->event_kind < ADA_EVENT_CALL || event->event_kind > ADA_EVENT_EXCEPTION || event->call_depth >= limit)
			continue;
		limit = event->call_depth;
		if (event->event_kind == ADA_EVENT_CALL)
			result = ada_array_push(&stack->frames,
						(struct ada_frame){ position, event->function_id, event->timestamp_ns, limit });
	}
	for (size_t i = checkpoint ? checkpoint->count : 0; i-- > 0 && !result;) {
		const struct ada_frame *frame = &track->frames.items[checkpoint->first + i];

		if (frame->depth < limit)
			result = ada_array_push(&stack->frames, *frame);
	}
	return result;
}

int ada_narrate_stack(struct ada_story *story, struct ada_stack *stack, const struct ada_thread *thread, uint64_t position)
{
	struct ada_stack_track *track = track_of(story, thread);
	const struct ada_checkpoint *checkpoint;
	uint32_t limit = UINT32_MAX;
	size_t number;
	int result;

	*stack = (struct ada_stack){};
	result = track ? read_to(track, thread, position) : -ENOMEM;
	if (result)
		return result;
	number = ada_array_below(&track->checkpoints, position, position + 1);
	checkpoint = number ? &track->checkpoints.items[number - 1] : NULL;
	if (position < thread->count) {
		const struct ada_event *event = atf_thread_get(thread->events, position);

		/* A call that is about to begin shows that those at its depth have left without a word. */
		if (event->event_kind == ADA_EVENT_CALL)
			limit = event->call_depth;
	}
	result = read_back(stack, thread, position, track, checkpoint, limit);
	ada_stack_reverse(stack);
	if (result)
		ada_stack_close(stack);
	return result;
}

void ada_narrate_close_tracks(struct ada_story *story)
{
	for (size_t i = 0; i < story->tracks.count; i++) {
		ada_array_free(&story->tracks.items[i].open);
		ada_array_free(&story->tracks.items[i].frames);
		ada_array_free(&story->tracks.items[i].checkpoints);
	}
	ada_array_free(&story->tracks);
}
