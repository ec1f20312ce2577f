/* Numbers, times, names and stacks as sentences have them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "elf/debug/functions.h"
#include "query/session/source.h"
#include "query/tell/tell.h"

#define FRAMES_FIRST 4 /* shown of a deep stack: so many outermost, */
#define FRAMES_LAST 12 /* and innermost calls */
#define NAME_MAX_BYTES 200

char *ada_words_time(const struct ada_story *story, uint64_t ns, char text[ADA_WORDS])
{
	return ada_clock_view_text(story->session, ns, text);
}

char *ada_words_signal(int number, char text[ADA_WORDS])
{
	const char *name = sigabbrev_np(number);

	if (name)
		snprintf(text, ADA_WORDS, "SIG%.40s", name);
	else
		snprintf(text, ADA_WORDS, "signal %d", number);
	return text;
}

char *ada_words_thread(const struct ada_thread *by, const struct ada_thread *thread, char text[ADA_WORDS])
{
	if (*thread->name && strcmp(thread->name, by->name) != 0)
		snprintf(text, ADA_WORDS, "thread %" PRIu32 " (%.40s)", thread->number, thread->name);
	else
		snprintf(text, ADA_WORDS, "thread %" PRIu32, thread->number);
	return text;
}

char *ada_words_percent(double share, char text[ADA_WORDS])
{
	snprintf(text, ADA_WORDS, "%.3g %%", 100 * share);
	return text;
}

/* At most NAME_MAX_BYTES, not within a character. */
static void put_cut(const char *name, char text[ADA_WORDS_NAME])
{
	size_t length = strlen(name);

	if (length <= NAME_MAX_BYTES) {
		memcpy(text, name, length + 1);
		return;
	}
	length = NAME_MAX_BYTES;
	while (length && ((unsigned char)name[length] & 0xc0) == 0x80)
		length--;
	memcpy(text, name, length);
	strcpy(text + length, "...");
}

char *ada_words_function(struct ada_story *story, const struct ada_process *process, uint64_t id, char text[ADA_WORDS_NAME])
{
	const struct ada_name *name = ada_name_list_get(&story->names, process, id);
	char brief[ADA_NAME_BUFFER];

	if (name)
		put_cut(story->options.full_names ? name->function : ada_name_short(name->function, brief), text);
	else
		strcpy(text, "?");
	return text;
}

const char *ada_words_file(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_line(char text[ADA_WORDS_NAME], const char *file, uint32_t line)
{
	size_t length = strlen(text);

	snprintf(text + length, ADA_WORDS_NAME - length, " (%.120s:%" PRIu32 ")", ada_words_file(file), line);
}

char *ada_words_source(struct ada_story *story, const struct ada_process *process, uint64_t id, char text[ADA_WORDS_NAME])
{
	const struct ada_name *name = ada_name_list_get(&story->names, process, id);
	const char *file;
	uint32_t line;

	ada_words_function(story, process, id, text);
	if (name && name->of && name->symbol && ada_module_source(name->of, ADA_FUNCTION_SYMBOL(id), &file, &line))
		put_line(text, file, line);
	return text;
}

static bool is_shown(size_t frame, size_t count)
{
	return frame < FRAMES_FIRST || frame + FRAMES_LAST >= count;
}

void ada_words_stack(struct ada_story *story, const struct ada_thread *thread, const struct ada_stack *stack,
		     const struct ada_debug_line *last, FILE *stream)
{
	size_t count = stack->frames.count;
	char name[ADA_WORDS_NAME];

	for (size_t i = 0; i < count; i++) {
		const struct ada_debug_line *line = i + 1 == count ? last : NULL;
		uint64_t id = stack->frames.items[i].function_id;
		struct ada_debug_line site;

		if (!is_shown(i, count)) {
			if (i == FRAMES_FIRST)
				fprintf(stream, " > (%zu more)", count - FRAMES_FIRST - FRAMES_LAST);
			continue;
		}
		if (ada_stack_line(stack, thread, i, &site))
			line = &site;
		if (line)
			put_line(ada_words_function(story, thread->process, id, name), line->file, line->line);
		else
			ada_words_source(story, thread->process, id, name);
		fprintf(stream, "%s%s", i ? " > " : "", name);
	}
}

void ada_words_doubt(struct ada_story *story, const struct ada_thread *thread, uint64_t first, uint64_t position, FILE *stream)
{
	if (ada_narrate_lost_between(story, thread, first, position))
		fputs(", as far as the events say that were not lost", stream);
}

void ada_narrate_cite_stack(struct ada_story *story, const struct ada_thread *thread, const struct ada_stack *stack)
{
	for (size_t i = 0; i < stack->frames.count; i++)
		if (is_shown(i, stack->frames.count))
			ada_narrate_cite(story, thread, stack->frames.items[i].position, stack->frames.items[i].position);
}
