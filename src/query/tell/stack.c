/* Open calls at any event, for many questions about long threads. Packed blocks tell them. Of other threads ada_stack_at gives the same answers
 * by the same rules, but reads back to the thread's beginning each time if the outermost call never ended. Here one pass over the thread, as
 * far as anyone asks, keeps the open calls of every STEP-th event; each question goes on from there. */
#include <errno.h>
#include "query/tell/tell.h"

#define STEP (1u << 16)
#define FRAMES_MAX (1u << 20) /* of all checkpoints of a thread: 32 MiB; then questions read further back */

static struct ada_stack_track *track_of(struct ada_story *story, const struct ada_thread *thread)
{
	size_t number = thread - story->session->threads.items;

	while (story->tracks.count < story->session->threads.count)
		if (ada_array_push(&story->tracks, (struct ada_stack_track){}))
			return NULL;
	return &story->tracks.items[number];
}

static int keep(struct ada_stack_track *track)
{
	struct ada_checkpoint checkpoint = { track->position, track->frames.count, track->open.frames.count, track->open.after_loss };

	if (track->frames.count + track->open.frames.count > FRAMES_MAX)
		return 0;
	for (size_t i = 0; i < track->open.frames.count; i++)
		if (ada_array_push(&track->frames, track->open.frames.items[i]))
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
				result = ada_stack_feed(&track->open, &events[i], track->position + i);
			track->position += count;
		}
		atf_thread_release(thread->events, from, end);
		if (!result)
			result = keep(track);
	}
	return result;
}

/* Starts with the calls open at the checkpoint, and goes on from there to `position`. */
static int go_on(struct ada_stack *stack, const struct ada_thread *thread, uint64_t position, const struct ada_stack_track *track,
		 const struct ada_checkpoint *checkpoint)
{
	uint64_t at = checkpoint ? checkpoint->position : 0;
	int result = 0;

	stack->after_loss = checkpoint && checkpoint->after_loss;
	for (size_t i = 0; i < (checkpoint ? checkpoint->count : 0) && !result; i++)
		result = ada_array_push(&stack->frames, track->frames.items[checkpoint->first + i]);
	for (; at < position && !result; at++)
		result = ada_stack_feed(stack, atf_thread_get(thread->events, at), at);
	return result;
}

int ada_narrate_stack(struct ada_story *story, struct ada_stack *stack, const struct ada_thread *thread, uint64_t position)
{
	struct ada_stack_track *track = track_of(story, thread);
	const struct ada_checkpoint *checkpoint;
	size_t number;
	int result = ada_stack_packed(stack, thread, position);

	if (result != -EINVAL)
		return result;
	*stack = (struct ada_stack){};
	result = track ? read_to(track, thread, position) : -ENOMEM;
	if (result)
		return result;
	number = ada_array_below(&track->checkpoints, position, position + 1);
	checkpoint = number ? &track->checkpoints.items[number - 1] : NULL;
	result = go_on(stack, thread, position, track, checkpoint);
	if (position < thread->count && !result) {
		const struct ada_event *event = atf_thread_get(thread->events, position);

		/* A call that is about to begin shows that those at its depth have left without a word. */
		if (event->event_kind == ADA_EVENT_CALL)
			ada_stack_leave(stack, event->call_depth);
	}
	if (result)
		ada_stack_close(stack);
	return result;
}

void ada_narrate_close_tracks(struct ada_story *story)
{
	for (size_t i = 0; i < story->tracks.count; i++) {
		ada_stack_close(&story->tracks.items[i].open);
		ada_array_free(&story->tracks.items[i].frames);
		ada_array_free(&story->tracks.items[i].checkpoints);
	}
	ada_array_free(&story->tracks);
}
