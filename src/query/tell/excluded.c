/* What --exclude leaves out of what causes are found by. */
#include "abi/object.h"
#include "query/session/json.h"
#include "query/tell/tell.h"
#include "trigger/pattern.h"

#define EXCLUDED_TOLD 3
#define NAME(name, flag) name,

/* Reads the patterns as the recorder did. One that can't be compiled here means nothing. */
static void read_patterns(const json_object *texts, struct ada_pattern_list *patterns)
{
	struct ada_error error = {};

	for (size_t i = 0; i < ada_json_length(texts); i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(texts, i));

		if (text)
			ada_pattern_list_add(patterns, text, &error);
	}
}

/* Of what threads wait in, or wake others by. Returns how many there are; the first of them are in `found`. */
static size_t find_excluded(const struct ada_pattern_list *patterns, const char *found[EXCLUDED_TOLD])
{
	static const char *const functions[] = { ADA_OBJECT_FUNCTIONS(NAME) };
	size_t count = 0;

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		struct ada_names names;

		ada_names_open(&names, functions[i], NULL);
		if (ada_pattern_list_matches(patterns, &names) && count++ < EXCLUDED_TOLD)
			found[count - 1] = functions[i];
		ada_names_close(&names);
	}
	return count;
}

static void put_names(FILE *stream, const char *const found[EXCLUDED_TOLD], size_t count)
{
	for (size_t i = 0; i < count && i < EXCLUDED_TOLD; i++)
		fprintf(stream, "%s%s", i ? ", " : "", found[i]);
	if (count > EXCLUDED_TOLD)
		fprintf(stream, " and %zu more", count - EXCLUDED_TOLD);
}

void ada_narrate_excluded(struct ada_story *story)
{
	const json_object *texts = ada_json_get(ada_json_get(story->session->document, "options"), "exclude");
	struct ada_pattern_list patterns = {};
	const char *found[EXCLUDED_TOLD];
	struct ada_telling telling;
	size_t count;

	read_patterns(texts, &patterns);
	count = patterns.items.count ? find_excluded(&patterns, found) : 0;
	ada_pattern_list_free(&patterns);
	if (!count || !ada_telling_open(story, &telling))
		return;
	fputs("By --exclude, calls of ", telling.stream);
	put_names(telling.stream, found, count);
	fputs(" are missing, but where a rule names the function: who waits there, for what and for whom, is unknown, and that time is the "
	      "callers' own.",
	      telling.stream);
	ada_telling_say(story, "excluded", &telling);
	ada_narrate_cite_file(story, NULL, "session.json", "options.exclude");
}
