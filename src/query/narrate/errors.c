/* Which calls of a window returned an error, as far as their type and their registers are known. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "elf/debug/functions.h"
#include "query/narrate/parts.h"
#include "query/session/source.h"
#include "query/session/windows.h"
#include "query/values/arguments.h"
#include "trigger/prototypes.h"

#define TOLD 3
#define RETURNS_MAX 2000000 /* looked at in a window: finding a record takes its time */
#define RELEASE_EVENTS (1u << 18)
#define RARE 10 /* an error is rare where at most one in so many returns is one */

enum result_kind { RESULT_OTHER, RESULT_INT, RESULT_LONG, RESULT_POINTER };

struct failing { /* of one function in this window */
	uint64_t key, id;
	enum result_kind kind;
	bool library; /* known by its prototype: negative means an error */
	uint64_t returns, errors;
	const struct ada_thread *thread; /* of the first error */
	uint64_t position, ns;
	int64_t value;
};

struct search {
	struct ada_story *story;
	struct ada_table numbers;
	ADA_ARRAY(struct failing) functions;
	uint64_t looked;
	bool cut;
	int result;
};

/* The sign of these functions' results is an order, or part of a number, no error. */
static bool compares(const char *name)
{
	static const char *const patterns[] = { "*cmp*", "*compare*", "*coll*", "strto*", "ato[ilfq]*" };

	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
		if (!fnmatch(patterns[i], name, FNM_CASEFOLD))
			return true;
	return false;
}

static void learn_kind(struct ada_story *story, const struct ada_process *process, struct failing *failing)
{
	const struct ada_name *name = ada_name_list_get(&story->names, process, failing->id);
	const struct ada_debug_function *debug;
	const struct ada_prototype *prototype;
	char bare[128];

	if (!name || compares(name->function))
		return;
	snprintf(bare, sizeof bare, "%.*s", (int)strcspn(name->mangled, "@"), name->mangled);
	prototype = ada_prototype_find(bare);
	failing->library = prototype;
	debug = name->of && name->symbol ? ada_module_debug(name->of, ADA_FUNCTION_SYMBOL(failing->id)) : NULL;
	if (debug && debug->has_types) {
		if (debug->result.class == ADA_DEBUG_SIGNED)
			failing->kind = debug->result.bytes == 4 ? RESULT_INT : debug->result.bytes == 8 ? RESULT_LONG : RESULT_OTHER;
		else if (debug->result.class == ADA_DEBUG_POINTER || debug->result.class == ADA_DEBUG_C_STRING)
			failing->kind = RESULT_POINTER;
		return;
	}
	if (!prototype)
		return;
	failing->kind = *prototype->types == 'i'			     ? RESULT_INT :
			*prototype->types == 'l' || *prototype->types == 'z' ? RESULT_LONG :
			*prototype->types == 'p'			     ? RESULT_POINTER :
									       RESULT_OTHER;
}

static struct failing *failing_of(struct search *search, const struct ada_process *process, uint64_t id)
{
	struct failing failing = { .key = ada_process_function_key(process, id), .id = id };
	uint64_t number;

	if (ada_table_get(&search->numbers, failing.key, &number))
		return &search->functions.items[number];
	learn_kind(search->story, process, &failing);
	if (ada_table_put(&search->numbers, failing.key, search->functions.count) || ada_array_push(&search->functions, failing)) {
		search->result = -ENOMEM;
		return NULL;
	}
	return &search->functions.items[search->functions.count - 1];
}

static bool is_error(const struct failing *failing, const struct atf_detail *record, int64_t *value)
{
	*value = failing->kind == RESULT_INT ? (int32_t)record->x[0] : (int64_t)record->x[0];
	if (failing->kind == RESULT_POINTER)
		return !*value || *value == -1;
	return *value < 0;
}

static void look_at(struct search *search, const struct ada_thread *thread, const struct ada_event *event, uint64_t position)
{
	struct failing *failing = failing_of(search, thread->process, event->function_id);
	struct atf_detail record;
	int64_t value;

	if (!failing || failing->kind == RESULT_OTHER)
		return;
	search->looked++;
	if (ada_thread_detail(thread, position, &record) || record.event_type != ATF_DETAIL_RETURN)
		return;
	failing->returns++;
	if (!is_error(failing, &record, &value))
		return;
	/* The first by time; threads are read one after the other. */
	if (!failing->errors++ || event->timestamp_ns < failing->ns) {
		failing->thread = thread;
		failing->position = position;
		failing->ns = event->timestamp_ns;
		failing->value = value;
	}
}

static void search_thread(struct search *search, const struct ada_recorded_window *window, const struct ada_thread *thread)
{
	uint64_t first, end, kept;

	if (!ada_narrate_range(search->story, thread, window, &first, &end))
		return;
	kept = first;
	for (uint64_t position = first; position < end && !search->result; position++) {
		const struct ada_event *event = atf_thread_get(thread->events, position);

		if (position - kept > RELEASE_EVENTS) {
			atf_thread_release(thread->events, kept, position);
			kept = position;
		}
		if (event->event_kind != ADA_EVENT_RETURN || event->detail_seq == ADA_NO_DETAIL)
			continue;
		search->cut = search->looked == RETURNS_MAX;
		if (search->cut)
			break;
		look_at(search, thread, event, position);
	}
	atf_thread_release(thread->events, kept, end);
}

static bool is_rare(const struct failing *failing)
{
	return failing->errors * RARE <= failing->returns;
}

static bool is_told(const struct failing *failing)
{
	return failing->errors && (is_rare(failing) || (failing->library && failing->kind != RESULT_POINTER));
}

/* Rare ones first, the rarer the earlier. */
static int compare_failing(const void *left, const void *right)
{
	const struct failing *a = left, *b = right;
	unsigned __int128 share_a = (unsigned __int128)a->errors * b->returns, share_b = (unsigned __int128)b->errors * a->returns;

	if (is_told(a) != is_told(b))
		return is_told(a) ? -1 : 1;
	if (share_a != share_b)
		return share_a < share_b ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static void failing_tell(struct ada_story *story, const struct failing *failing)
{
	char name[ADA_WORDS_NAME], errors[ADA_WORDS], returns[ADA_WORDS], value[64];
	struct atf_detail record;
	const char *error = ada_thread_detail(failing->thread, failing->position, &record) ? NULL : ada_captured_errno(&record);

	if (failing->kind == RESULT_POINTER && !failing->value)
		snprintf(value, sizeof value, "NULL");
	else
		snprintf(value, sizeof value, "%lld", (long long)failing->value);
	if (error)
		snprintf(value + strlen(value), sizeof value - strlen(value), " (%s)", error);
	ada_words_source(story, failing->thread->process, failing->id, name);
	if (failing->returns == 1)
		ada_narrate_say(story, "error-return", "On thread %u %s returned %s; no other return of it in this window has detail.",
				failing->thread->number, name, value);
	else
		ada_narrate_say(story, "error-return",
				"On thread %u %s returned %s; %s of its %s returns with detail in this window"
				" %s %s.",
				failing->thread->number, name, value, ada_format_grouped(failing->errors, errors),
				ada_format_grouped(failing->returns, returns), failing->errors == 1 ? "is" : "are",
				failing->kind == RESULT_POINTER ? "NULL or -1" : "negative");
	ada_narrate_cite(story, failing->thread, failing->position, failing->position);
}

void ada_narrate_errors(struct ada_story *story, const struct ada_recorded_window *window)
{
	struct search search = { .story = story };
	const struct ada_process *process = window->process;
	size_t count = 0;

	for (size_t i = 0; i < process->thread_count; i++)
		search_thread(&search, window, &story->session->threads.items[process->first_thread + i]);
	if (search.functions.count)
		qsort(search.functions.items, search.functions.count, sizeof *search.functions.items, compare_failing);
	while (count < search.functions.count && is_told(&search.functions.items[count]))
		count++;
	for (size_t i = 0; i < count && i < TOLD; i++)
		failing_tell(story, &search.functions.items[i]);
	if (count > TOLD) {
		ada_narrate_say(story, "error-return-more", "%zu more function%s returned errors%s.", count - TOLD,
				ada_words_s(count - TOLD), search.cut ? ", in the part of the window that was looked at" : "");
		for (size_t i = TOLD; i < count; i++)
			ada_narrate_cite(story, search.functions.items[i].thread, search.functions.items[i].position,
					 search.functions.items[i].position);
	}
	if (search.result && !story->result)
		story->result = search.result;
	ada_table_free(&search.numbers);
	ada_array_free(&search.functions);
}
