/* Narratives: which sections there are. */
#include "query/narrate/narrate.h"
#include "query/narrate/parts.h"
#include <errno.h>
#include <stdlib.h>

static struct ada_completeness completeness_of(const struct ada_story *story, struct ada_error *error, int *result)
{
	const struct ada_selection *selection = story->selection;
	uint64_t *lost = calloc(selection->threads.count + 1, sizeof *lost), events = 0, first, end;
	struct ada_completeness completeness = {};

	if (!lost) {
		*result = ada_error_system(error, ENOMEM, "%s", story->session->path);
		return completeness;
	}
	for (size_t i = 0; i < selection->threads.count; i++) {
		const struct ada_thread *thread = selection->threads.items[i];
		const struct ada_thread_losses *losses = &story->losses.items[thread - story->session->threads.items];

		for (size_t j = 0; j < losses->positions.count; j++) {
			const struct ada_event *event = atf_thread_get(thread->events, losses->positions.items[j]);

			if (event->timestamp_ns >= selection->from_ns && event->timestamp_ns < selection->to_ns)
				lost[i] += event->function_id;
		}
		if (losses->count > losses->positions.count) /* some have no known place: then all count */
			lost[i] = losses->lost;
		ada_selection_range(selection, thread, &first, &end);
		events += end - first;
	}
	completeness = ada_selection_completeness(selection, true, events, lost);
	free(lost);
	return completeness;
}

static void free_sentence(struct ada_sentence *sentence)
{
	free(sentence->text);
	free(sentence->cause);
	free(sentence->crash);
	ada_array_free(&sentence->evidence);
}

/* Drops sentences that have no evidence. */
static void drop_unfounded(struct ada_narrative *narrative)
{
	for (size_t i = 0; i < narrative->sections.count; i++) {
		struct ada_section *section = &narrative->sections.items[i];
		size_t kept = 0;

		for (size_t j = 0; j < section->sentences.count; j++)
			if (section->sentences.items[j].evidence.count)
				section->sentences.items[kept++] = section->sentences.items[j];
			else
				free_sentence(&section->sentences.items[j]);
		section->sentences.count = kept;
	}
}

static int story_tell(struct ada_story *story, struct ada_error *error)
{
	int result = ada_narrate_select(story);

	if (!result)
		result = ada_narrate_find_losses(story);
	if (result)
		return ada_error_system(error, -result, "%s", story->session->path);
	story->narrative->completeness = completeness_of(story, error, &result);
	if (result)
		return result;
	ada_narrate_windows(story);
	if (!story->options.in_window && !story->result) {
		ada_narrate_session(story);
		for (size_t i = 0; i < story->session->processes.count && !story->result; i++)
			if (ada_narrate_selects_process(story, story->session->processes.items[i]))
				ada_narrate_process(story, story->session->processes.items[i]);
	}
	drop_unfounded(story->narrative);
	return story->result ? ada_error_system(error, -story->result, "%s", story->session->path) : 0;
}

int ada_narrate(struct ada_narrative *narrative, const struct ada_selection *selection, const struct ada_narrate_options *options,
		struct ada_error *error)
{
	struct ada_story story = { .narrative = narrative, .session = selection->session };
	struct ada_selection part = { .session = selection->session, .from_ns = selection->from_ns, .to_ns = selection->to_ns };
	int result = 0;

	*narrative = (struct ada_narrative){ .session = selection->session };
	if (options)
		story.options = *options;
	for (size_t i = 0; i < selection->threads.count && !result; i++)
		result = ada_array_push(&part.threads, selection->threads.items[i]);
	if (result)
		result = ada_error_system(error, -result, "%s", selection->session->path);
	if (!result && story.options.in_window)
		result = ada_selection_narrow(&part, story.options.window, error);
	story.selection = &part;
	if (!result)
		result = story_tell(&story, error);
	ada_narrate_forget(&story);
	ada_selection_close(&part);
	if (result)
		ada_narrative_free(narrative);
	return result;
}

void ada_narrative_free(struct ada_narrative *narrative)
{
	for (size_t i = 0; i < narrative->sections.count; i++) {
		struct ada_section *section = &narrative->sections.items[i];

		for (size_t j = 0; j < section->sentences.count; j++)
			free_sentence(&section->sentences.items[j]);
		ada_array_free(&section->sentences);
		free(section->title);
	}
	ada_array_free(&narrative->sections);
}
