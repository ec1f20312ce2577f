/* Where events are missing. */
#include "atf/session/thread.h"
#include "query/session/stretch.h"
#include "query/tell/tell.h"

#define LOSSES_TOLD 3 /* of a thread */

struct piece {
	uint64_t from, to;
};

static int piece_read(struct ada_thread_losses *losses, const struct piece *piece)
{
	struct ada_stretch stretch = { .thread = losses->thread, .next = piece->from, .to = piece->to };
	int result = 0;

	while (ada_stretch_next(&stretch))
		for (uint64_t i = 0; i < stretch.count && !result; i++) {
			uint64_t lost = stretch.events[i].function_id, position = stretch.position + i;

			if (stretch.events[i].event_kind != ADA_EVENT_LOST || !lost) /* 0: they have gone, and are in totals */
				continue;
			losses->count++;
			losses->lost += lost;
			if (lost > losses->largest) {
				losses->largest = lost;
				losses->largest_position = position;
			}
			if (losses->positions.count < ADA_LOSSES_KEPT)
				result = ada_array_push(&losses->positions, position);
		}
	return result;
}

/* From the end backwards the pieces that aren't known to hold calls and their ends alone; then these are read. */
static int losses_find(struct ada_thread_losses *losses)
{
	ADA_ARRAY(struct piece) pieces = {};
	int result = 0;

	for (uint64_t to = losses->thread->count; to && !result;) {
		struct piece piece = { atf_thread_calls_from(losses->thread->events, to), to };

		if (piece.from < to) {
			to = piece.from;
			continue;
		}
		piece.from = to > ADA_STRETCH_EVENTS ? to - ADA_STRETCH_EVENTS : 0;
		to = piece.from;
		if (pieces.count && pieces.items[pieces.count - 1].from == piece.to)
			pieces.items[pieces.count - 1].from = piece.from;
		else
			result = ada_array_push(&pieces, piece);
	}
	for (size_t i = pieces.count; i-- > 0 && !result;)
		result = piece_read(losses, &pieces.items[i]);
	ada_array_free(&pieces);
	return result;
}

/* Reads a thread only where its manifest says that events were lost, or can't know yet. */
int ada_narrate_find_losses(struct ada_story *story)
{
	int result = 0;

	for (size_t i = 0; i < story->session->threads.count && !result; i++) {
		const struct ada_thread *thread = &story->session->threads.items[i];

		result = ada_array_push(&story->losses, (struct ada_thread_losses){ .thread = thread });
		if (!result && thread->events && (thread->lost || !thread->process->finalized))
			result = losses_find(&story->losses.items[i]);
	}
	return result;
}

static const struct ada_thread_losses *losses_of(const struct ada_story *story, const struct ada_thread *thread)
{
	return &story->losses.items[thread - story->session->threads.items];
}

bool ada_narrate_lost_between(const struct ada_story *story, const struct ada_thread *thread, uint64_t from, uint64_t to)
{
	const struct ada_thread_losses *losses = losses_of(story, thread);

	for (size_t i = 0; i < losses->positions.count; i++)
		if (losses->positions.items[i] >= from && losses->positions.items[i] < to)
			return true;
	/* Losses without a kept position may lie anywhere behind the kept ones. */
	return losses->count > losses->positions.count && to > losses->positions.items[losses->positions.count - 1];
}

static void tell_one(struct ada_story *story, const struct ada_thread *thread, uint64_t position)
{
	const struct ada_event *event = atf_thread_get(thread->events, position);
	char number[ADA_WORDS], time[ADA_WORDS], where[ADA_WORDS];
	uint64_t first = position ? position - 1 : 0, last = position + 1 < thread->count ? position + 1 : position;

	if (position && position + 1 < thread->count)
		snprintf(where, sizeof where, "between #%llu and #%llu", (unsigned long long)first, (unsigned long long)last);
	else if (position)
		snprintf(where, sizeof where, "after #%llu", (unsigned long long)first);
	else
		snprintf(where, sizeof where, "before #%llu", (unsigned long long)last);
	ada_narrate_say(story, "lost", "Thread %u lost %s event%s at %s, %s.", thread->number,
			ada_format_grouped(event->function_id, number), ada_words_s(event->function_id),
			ada_words_time(story, event->timestamp_ns, time), where);
	ada_narrate_cite(story, thread, first, last);
}

static bool in_time(const struct ada_story *story, const struct ada_thread *thread, uint64_t position)
{
	uint64_t ns = atf_thread_get(thread->events, position)->timestamp_ns;

	return ns >= story->selection->from_ns && ns < story->selection->to_ns;
}

static void tell_thread(struct ada_story *story, const struct ada_thread_losses *losses)
{
	const struct ada_thread *thread = losses->thread;
	char number[ADA_WORDS], count[ADA_WORDS], largest[ADA_WORDS];
	uint64_t told = 0;

	if (losses->count > LOSSES_TOLD) {
		ada_narrate_say(story, "lost", "Thread %u lost %s events at %s places, the most at one place at #%llu: %s.", thread->number,
				ada_format_grouped(losses->lost, number), ada_format_grouped(losses->count, count),
				(unsigned long long)losses->largest_position, ada_format_grouped(losses->largest, largest));
		ada_narrate_cite(story, thread, losses->largest_position, losses->largest_position);
		for (size_t i = 0; i < losses->positions.count && i < 64; i++)
			ada_narrate_cite(story, thread, losses->positions.items[i], losses->positions.items[i]);
	}
	for (size_t i = 0; i < losses->positions.count && told < LOSSES_TOLD; i++)
		if (in_time(story, thread, losses->positions.items[i])) {
			tell_one(story, thread, losses->positions.items[i]);
			told++;
		}
	if (thread->lost > losses->lost) {
		ada_narrate_say(story, "lost", "Of thread %u %s more event%s lost at places that are not known.", thread->number,
				ada_format_grouped(thread->lost - losses->lost, number),
				thread->lost - losses->lost == 1 ? " was" : "s were");
		ada_narrate_cite_file(story, thread->process, "manifest.json", "threads[%u].lost", thread->number);
	}
}

void ada_narrate_losses(struct ada_story *story, const struct ada_process *process)
{
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &story->session->threads.items[process->first_thread + i];
		char number[ADA_WORDS];

		if (!ada_narrate_selects_thread(story, thread))
			continue;
		tell_thread(story, losses_of(story, thread));
		if (thread->skipped) {
			ada_narrate_say(story, "lost", "%s call%s of thread %u could not be recorded.",
					ada_format_grouped(thread->skipped, number), ada_words_s(thread->skipped), thread->number);
			ada_narrate_cite_file(story, process, "manifest.json", "threads[%u].skipped", thread->number);
		}
	}
}
