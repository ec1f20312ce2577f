/* Sections, sentences and their evidence. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include "query/tell/tell.h"

static void story_fail(struct ada_story *story)
{
	if (!story->result)
		story->result = -ENOMEM;
}

void ada_narrate_section(struct ada_story *story, const struct ada_process *process, uint64_t window, const char *format, ...)
{
	struct ada_section section = { .process = process, .window = window };
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&section.title, format, arguments) < 0)
		section.title = NULL;
	va_end(arguments);
	if (section.title && !ada_array_push(&story->narrative->sections, section))
		return;
	free(section.title);
	story_fail(story);
}

bool ada_narrate_leaves_out(const struct ada_story *story)
{
	bool windows = false;

	for (size_t i = 0; i < story->narrative->sections.count; i++)
		windows |= story->narrative->sections.items[i].window != ADA_NO_WINDOW;
	return story->options.brief && windows;
}

static struct ada_sentence *last_sentence(const struct ada_story *story)
{
	const struct ada_section *section = &story->narrative->sections.items[story->narrative->sections.count - 1];

	return &section->sentences.items[section->sentences.count - 1];
}

/* Takes the text, which is malloc'ed. */
static void fact_add(struct ada_story *story, const char *kind, char *text)
{
	struct ada_sentence sentence = { .kind = kind, .text = text };

	if (text && !story->result &&
	    !ada_array_push(&story->narrative->sections.items[story->narrative->sections.count - 1].sentences, sentence))
		return;
	free(text);
	story_fail(story);
}

void ada_narrate_say(struct ada_story *story, const char *kind, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	fact_add(story, kind, text);
}

bool ada_telling_open(struct ada_story *story, struct ada_telling *telling)
{
	*telling = (struct ada_telling){};
	telling->stream = open_memstream(&telling->text, &telling->length);
	if (!telling->stream)
		story_fail(story);
	return telling->stream;
}

void ada_telling_say(struct ada_story *story, const char *kind, struct ada_telling *telling)
{
	if (!fclose(telling->stream)) {
		fact_add(story, kind, telling->text);
		return;
	}
	free(telling->text);
	story_fail(story);
}

void ada_narrate_attach_cause(struct ada_story *story, char *cause)
{
	if (cause && !story->result) {
		last_sentence(story)->cause = cause;
		return;
	}
	free(cause);
	story_fail(story);
}

void ada_narrate_attach_crash(struct ada_story *story, char *crash)
{
	if (crash && !story->result) {
		last_sentence(story)->crash = crash;
		return;
	}
	free(crash);
	story_fail(story);
}

/* --- evidence ----------------------------------------------------------------------------------------------------------- */

static void add_evidence(struct ada_story *story, const struct ada_evidence *evidence)
{
	struct ada_sentence *sentence;
	const struct ada_evidence *last;

	if (story->result)
		return;
	sentence = last_sentence(story);
	last = sentence->evidence.count ? &sentence->evidence.items[sentence->evidence.count - 1] : NULL;
	if (last && evidence->thread && last->thread == evidence->thread && last->first == evidence->first && last->last == evidence->last)
		return;
	if (ada_array_push(&sentence->evidence, *evidence))
		story_fail(story);
}

void ada_narrate_cite(struct ada_story *story, const struct ada_thread *thread, uint64_t first, uint64_t last)
{
	add_evidence(story, &(struct ada_evidence){ .process = thread->process, .thread = thread, .first = first, .last = last });
}

void ada_narrate_cite_file(struct ada_story *story, const struct ada_process *process, const char *file, const char *field, ...)
{
	struct ada_evidence evidence = { .process = process, .file = file };
	va_list arguments;

	va_start(arguments, field);
	vsnprintf(evidence.field, sizeof evidence.field, field, arguments);
	va_end(arguments);
	add_evidence(story, &evidence);
}

void ada_narrate_cite_thread(struct ada_story *story, const struct ada_thread *thread)
{
	uint64_t first, end;

	ada_selection_range(story->selection, thread, &first, &end);
	if (first < end)
		ada_narrate_cite(story, thread, first, end - 1);
}

/* --- what is selected --------------------------------------------------------------------------------------------------- */

int ada_narrate_select(struct ada_story *story)
{
	int result = 0;

	while (story->selects.count < story->session->threads.count && !result)
		result = ada_array_push(&story->selects, false);
	for (size_t i = 0; i < story->selection->threads.count && !result; i++)
		story->selects.items[story->selection->threads.items[i] - story->session->threads.items] = true;
	return result;
}

bool ada_narrate_selects_thread(const struct ada_story *story, const struct ada_thread *thread)
{
	return story->selects.items[thread - story->session->threads.items];
}

/* Also selects a process without threads, unless the user named a thread. */
bool ada_narrate_selects_process(const struct ada_story *story, const struct ada_process *process)
{
	const struct ada_session *session = story->session;

	if (!process->thread_count)
		return story->selection->threads.count == session->threads.count;
	for (size_t i = 0; i < process->thread_count; i++)
		if (ada_narrate_selects_thread(story, &session->threads.items[process->first_thread + i]))
			return true;
	return false;
}

bool ada_narrate_range(const struct ada_story *story, const struct ada_thread *thread, const struct ada_recorded_window *window,
		       uint64_t *first, uint64_t *end)
{
	const struct ada_selection *selection = story->selection;
	uint64_t from_ns = window->start_ns > selection->from_ns ? window->start_ns : selection->from_ns;
	uint64_t to_ns = window->end_ns < selection->to_ns ? window->end_ns + 1 : selection->to_ns;

	if (!thread->events || thread->process != window->process || !ada_narrate_selects_thread(story, thread) || from_ns >= to_ns)
		return false;
	*first = atf_thread_lower_bound(thread->events, from_ns);
	*end = to_ns == UINT64_MAX ? thread->count : atf_thread_lower_bound(thread->events, to_ns);
	return *first < *end;
}
