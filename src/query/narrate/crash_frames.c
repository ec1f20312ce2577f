/* The calls that were open at a crash, as a debugger shows them, and the registers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "elf/debug/functions.h"
#include "query/narrate/parts.h"
#include "query/session/windows.h"
#include "query/values/arguments.h"

#define FRAMES_TOLD 16 /* the innermost ones */
#define STRING_TOLD 60 /* of a string among their arguments */

/* A string that is long for a sentence ends in dots, in no half of a character. */
static void shorten(char *text)
{
	size_t end = STRING_TOLD;

	if (strlen(text) <= STRING_TOLD + strlen("\"..."))
		return;
	while (end && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	for (size_t back = 1; back <= 3 && back < end; back++)
		if (text[end - back] == '\\')
			end -= back;
	strcpy(text + end, "\"...");
}

/* "#0 handle(s=0x55d0c4a012a0) at server.c:8" */
static void put_frame(struct ada_story *story, FILE *stream, const struct ada_crash_cause *cause, size_t frame)
{
	const struct ada_frame *of = &cause->path.frames.items[frame];
	struct ada_arguments arguments = {};
	char name[ADA_WORDS_NAME], *text = NULL;
	struct ada_debug_line line;
	struct atf_detail record;

	if (!ada_thread_detail(cause->thread, of->position, &record) && !ada_arguments_decode(&arguments, cause->thread, &record) &&
	    arguments.known) {
		for (size_t i = 0; i < arguments.items.count; i++)
			if (arguments.items.items[i].kind == ADA_ARGUMENT_STRING)
				shorten(arguments.items.items[i].text);
		text = ada_arguments_list(&arguments);
	}
	fprintf(stream, "#%zu %s", cause->path.frames.count - 1 - frame, ada_words_function(story, cause->process, of->function_id, name));
	if (text)
		fprintf(stream, "(%s)", text);
	if (ada_crash_line(cause, frame, &line)) {
		fprintf(stream, " at %s:%" PRIu32, ada_words_file(line.file), line.line);
		if (line.inlined)
			fprintf(stream, ", in inlined %s (%s:%" PRIu32 ")", line.inlined, ada_words_file(line.inlined_file),
				line.inlined_line);
	}
	free(text);
	ada_arguments_free(&arguments);
}

void ada_narrate_crash_frames(struct ada_story *story, const struct ada_crash_cause *cause)
{
	size_t count = cause->path.frames.count, first = count > FRAMES_TOLD ? count - FRAMES_TOLD : 0;
	struct ada_telling telling;

	if (!count || !ada_telling_open(story, &telling))
		return;
	fputs("The frames, innermost first: ", telling.stream);
	for (size_t i = count; i-- > first;) {
		put_frame(story, telling.stream, cause, i);
		fputs(i > first ? "; " : "", telling.stream);
	}
	if (first)
		fprintf(telling.stream, "; and %zu more", first);
	fputs(".", telling.stream);
	ada_telling_say(story, "crash-frames", &telling);
	for (size_t i = count; i-- > first;)
		ada_narrate_cite(story, cause->thread, cause->path.frames.items[i].position, cause->path.frames.items[i].position);
}

void ada_narrate_crash_registers(struct ada_story *story, const struct ada_process *process)
{
	json_object *registers = ada_json_get(ada_json_get(process->manifest, "crash"), "registers");
	struct json_object_iterator at, end;
	struct ada_telling telling;
	const char *between = "";

	if (!json_object_is_type(registers, json_type_object) || !ada_telling_open(story, &telling))
		return;
	fputs("The registers:", telling.stream);
	at = json_object_iter_begin(registers);
	for (end = json_object_iter_end(registers); !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
		fprintf(telling.stream, "%s %s=%s", between, json_object_iter_peek_name(&at),
			json_object_get_string(json_object_iter_peek_value(&at)));
		between = ",";
	}
	fputs(".", telling.stream);
	ada_telling_say(story, "crash-registers", &telling);
	ada_narrate_cite_file(story, process, "manifest.json", "crash.registers");
}
