/* A window that a panic of a Rust program marked: who panicked, where and with what message. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "base/hash.h"
#include "query/headline/internal.h"

/* Of several lines as one: "assertion failed; left: 7; right: 2" */
static void put_text(FILE *stream, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		fprintf(stream, "%.*s", (int)length, text);
		text += length + strspn(text + length, "\n ");
		fputs(*text ? "; " : "", stream);
	}
}

void ada_headline_put_panic(FILE *stream, uint32_t thread, const char *file, uint64_t line, uint64_t column, const char *text)
{
	fprintf(stream, " panicked on thread %u", thread);
	if (file)
		fprintf(stream, " at %s:%" PRIu64 ":%" PRIu64, ada_words_file(file), line, column);
	fputs(text ? ": " : "; with what message is not recorded", stream);
	put_text(stream, text ? text : "");
}

static int read_panic(struct ada_headline_panic *panic, const struct ada_thread *thread, uint64_t position)
{
	struct ada_stack path = {};
	int result = ada_panic_read(thread, position, &panic->what);
	size_t who;

	if (!result)
		result = ada_stack_at(&path, thread, position);
	if (result)
		return result;
	who = ada_rust_panicked(thread->process, &path, path.frames.count);
	panic->thread = thread;
	panic->position = position;
	panic->function_id = who ? path.frames.items[who - 1].function_id : atf_thread_get(thread->events, position)->function_id;
	ada_stack_close(&path);
	return 0;
}

/* The same for panics that a reader would tell in the same words. */
static uint64_t likeness(const struct ada_headline_panic *panic)
{
	uint64_t words[4] = { ada_process_function_key(panic->thread->process, panic->function_id), panic->what.line, panic->what.column };

	if (panic->what.text)
		words[3] = ada_hash_bytes(panic->what.text, strlen(panic->what.text));
	return ada_hash_bytes(words, sizeof words) | 1;
}

void ada_headline_panic_find(struct ada_story *story, struct ada_headline *headline)
{
	const struct ada_recorded_window *window = &story->session->windows.items[headline->window];
	const json_object *marks = ada_json_get(window->entry, "marks");
	struct ada_headline_panic *panic = &headline->panic;

	for (size_t i = 0; i < ada_json_length(marks) && !story->result; i++) {
		const struct ada_thread *thread;
		uint64_t position;

		if (!ada_rust_panic_of_mark(window->process, json_object_array_get_idx(marks, i), &thread, &position))
			continue;
		if (!panic->count++)
			story->result = read_panic(panic, thread, position);
	}
	if (panic->thread)
		headline->key = likeness(panic);
}

void ada_headline_panic_tell(struct ada_story *story, const struct ada_headline *headline)
{
	const struct ada_recorded_window *window = &story->session->windows.items[headline->window];
	const struct ada_headline_panic *panic = &headline->panic;
	char name[ADA_WORDS_NAME];
	struct ada_telling telling;

	if (!ada_telling_open(story, &telling))
		return;
	fputs(ada_words_function(story, window->process, panic->function_id, name), telling.stream);
	ada_headline_put_panic(telling.stream, panic->thread->number, panic->what.file, panic->what.line, panic->what.column,
			       panic->what.text);
	fputs(".", telling.stream);
	if (panic->count > 1)
		fprintf(telling.stream, " %" PRIu64 " more panic%s marked this window.", panic->count - 1, ada_words_s(panic->count - 1));
	ada_headline_put_alike(telling.stream, headline);
	ada_telling_say(story, "headline", &telling);
	ada_narrate_cite(story, panic->thread, panic->position, panic->position);
	ada_narrate_cite_file(story, window->process, "manifest.json", "detail_lane.windows[%u].marks", window->id);
}
