/* Which calls of a window were unusual: longer than the same function's in the rest of the recording. */
#include <errno.h>
#include <stdlib.h>
#include "base/units.h"
#include "query/calls/calls.h"
#include "query/narrate/parts.h"
#include "query/session/stretch.h"

#define TOLD 5
#define SMALL 100 /* calls that exceed the usual by less than 1/100 of the worst are only counted */

struct slow { /* of one function */
	uint64_t id, calls;
	const struct ada_norm *norm;
	const struct ada_thread *thread; /* of the longest: */
	uint64_t duration_ns, position, end_position;
	enum ada_outcome outcome;
};

struct search {
	struct ada_story *story;
	const struct ada_thread *thread;
	uint64_t first; /* of the window in this thread */
	struct ada_table numbers;
	ADA_ARRAY(struct slow) slow;
	int result;
};

static struct slow *slow_of(struct search *search, const struct ada_norm *norm, uint64_t id)
{
	uint64_t number;

	if (ada_table_get(&search->numbers, norm->key, &number))
		return &search->slow.items[number];
	if (ada_table_put(&search->numbers, norm->key, search->slow.count) ||
	    ada_array_push(&search->slow, (struct slow){ .id = id, .norm = norm })) {
		search->result = -ENOMEM;
		return NULL;
	}
	return &search->slow.items[search->slow.count - 1];
}

static void call_take(void *context, const struct ada_call *call)
{
	struct search *search = context;
	uint64_t duration_ns = call->end_ns - call->start_ns;
	const struct ada_norm *norm;
	struct slow *slow;

	/* A call that was open all through the window is not unusual in it: call paths tell of that call. */
	if (call->across_loss || call->outcome == ADA_OUTCOME_UNKNOWN ||
	    (call->outcome == ADA_OUTCOME_OPEN && call->position < search->first))
		return;
	norm = ada_narrate_norm(search->story, search->thread->process, call->function_id);
	if (!norm || duration_ns <= norm->limit_ns ||
	    (call->position < search->first && ada_narrate_lost_between(search->story, search->thread, call->position, search->first)))
		return;
	slow = slow_of(search, norm, call->function_id);
	if (!slow)
		return;
	slow->calls++;
	if (duration_ns <= slow->duration_ns)
		return;
	slow->thread = search->thread;
	slow->duration_ns = duration_ns;
	slow->position = call->position;
	slow->outcome = call->outcome;
	slow->end_position = call->end_position;
}

int ada_narrate_feed_open(struct ada_story *story, struct ada_calls *calls, const struct ada_thread *thread, uint64_t first)
{
	struct ada_stack stack;
	int result = ada_narrate_stack(story, &stack, thread, first);

	if (!result)
		result = ada_stack_seed(&stack, calls);
	ada_stack_close(&stack);
	return result;
}

static void search_thread(struct search *search, const struct ada_recorded_window *window, const struct ada_thread *thread)
{
	struct ada_stretch stretch = { .thread = thread };
	uint64_t first, end;
	struct ada_calls calls;

	if (!ada_narrate_range(search->story, thread, window, &first, &end))
		return;
	ada_calls_open(&calls, &(struct ada_calls_receiver){ .context = search, .ended = call_take });
	search->thread = thread;
	search->first = stretch.next = first;
	stretch.to = end;
	if (ada_narrate_feed_open(search->story, &calls, thread, first))
		search->result = -ENOMEM;
	while (!search->result && ada_stretch_next(&stretch))
		for (uint64_t i = 0; i < stretch.count && !search->result; i++)
			if (ada_calls_feed(&calls, &stretch.events[i], stretch.position + i))
				search->result = -ENOMEM;
	/* Calls that are still open lasted at least until the thread's last event here. */
	ada_calls_end(&calls, 0);
	for (size_t i = 0; i < search->slow.count; i++)
		if (search->slow.items[i].thread == thread && search->slow.items[i].outcome == ADA_OUTCOME_OPEN)
			search->slow.items[i].end_position = end - 1;
	ada_calls_close(&calls);
}

static uint64_t excess(const struct slow *slow)
{
	return slow->duration_ns - slow->norm->high_ns;
}

/* Those that lasted longest beyond what is usual come first. */
static int compare_slow(const void *left, const void *right)
{
	const struct slow *a = left, *b = right;

	if (excess(a) != excess(b))
		return excess(a) > excess(b) ? -1 : 1;
	return a->norm->key < b->norm->key ? -1 : a->norm->key > b->norm->key;
}

static void tell_slow(struct ada_story *story, const struct slow *slow)
{
	char name[ADA_WORDS_NAME], took[ADA_UNITS_TEXT], median[ADA_UNITS_TEXT], high[ADA_UNITS_TEXT], number[ADA_WORDS], more[ADA_WORDS];
	const char *how = slow->outcome == ADA_OUTCOME_OPEN	 ? "was still open at the window's end, after at least" :
			  slow->outcome == ADA_OUTCOME_EXCEPTION ? "was left by an exception or jump after" :
								   "took";
	struct ada_telling telling;

	if (!ada_telling_open(story, &telling))
		return;
	fprintf(telling.stream, "On thread %u a call of %s %s %s; its median is %s and its %s %s over %s calls", slow->thread->number,
		ada_words_source(story, slow->thread->process, slow->id, name), how, ada_format_duration(slow->duration_ns, took),
		ada_format_duration(slow->norm->p50_ns, median), slow->norm->high, ada_format_duration(slow->norm->high_ns, high),
		ada_format_grouped(slow->norm->calls, number));
	if (slow->calls > 1)
		fprintf(telling.stream, ", and %s more call%s of it in this window took unusually long",
			ada_format_grouped(slow->calls - 1, more), ada_words_s(slow->calls - 1));
	fputs(".", telling.stream);
	ada_telling_say(story, "slow", &telling);
	ada_narrate_cite(story, slow->thread, slow->position, slow->position);
	ada_narrate_cite(story, slow->thread, slow->end_position, slow->end_position);
}

void ada_narrate_unusual(struct ada_story *story, const struct ada_recorded_window *window)
{
	struct search search = { .story = story };
	const struct ada_process *process = window->process;
	size_t told = 0;

	for (size_t i = 0; i < process->thread_count; i++)
		search_thread(&search, window, &story->session->threads.items[process->first_thread + i]);
	if (search.slow.count)
		qsort(search.slow.items, search.slow.count, sizeof *search.slow.items, compare_slow);
	while (told < search.slow.count && told < TOLD && excess(&search.slow.items[told]) >= excess(&search.slow.items[0]) / SMALL)
		tell_slow(story, &search.slow.items[told++]);
	if (search.slow.count > told) {
		ada_narrate_say(story, "slow-more", "Calls of %zu more function%s took unusually long, by less.", search.slow.count - told,
				ada_words_s(search.slow.count - told));
		for (size_t i = told; i < search.slow.count; i++)
			ada_narrate_cite(story, search.slow.items[i].thread, search.slow.items[i].position, search.slow.items[i].position);
	}
	if (search.result && !story->result)
		story->result = search.result;
	ada_table_free(&search.numbers);
	ada_array_free(&search.slow);
}
