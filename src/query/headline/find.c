/* What a window is about: the cause of its slowest marked call, and of how many calls and windows the same is true. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "query/headline/internal.h"

#define MARKS_ASKED 16	/* of a window: the slowest ones, and as many whose rules are about no time: the first ones */
#define SLOW_NS 1000000 /* a call that a rule marked for another reason than its duration has a cause from here on */

static bool is_about_time(const char *kind)
{
	return !strncmp(kind, "latency", strlen("latency")) || (kind[0] == 'p' && kind[1] >= '0' && kind[1] <= '9');
}

/* The same for causes that a reader would tell in the same words, but for times. */
static uint64_t likeness(struct ada_cause_reader *reader, const struct ada_cause *cause)
{
	const struct ada_cause_link *link = &cause->links.items[0];
	const struct ada_process *process = link->thread->process;
	uint64_t words[5] = { ada_cause_kind_of(cause), ada_process_function_key(process, link->function_id),
			      ada_process_function_key(process, link->wait_function_id), link->kind == ADA_CAUSE_LOCK ? link->object : 0 };
	struct ada_culprit culprit;

	ada_cause_culprit(cause, &culprit);
	words[4] = culprit.thread ? ada_cause_own_function(reader, process, culprit.path) : ADA_NO_FUNCTION;
	return ada_hash_bytes(words, sizeof words) | 1;
}

static uint64_t took(const struct ada_cause *cause)
{
	return ada_cause_took(&cause->links.items[0]);
}

/* A mark of the window, and how long what it marked took by the rule's own measure; 0: the rule is about no time. */
struct candidate {
	const json_object *mark;
	double ns;
	bool asked;
};

/* The slowest ones first, then those of which that isn't known, as they came. */
static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	uint64_t a_ns = ada_json_u64(a->mark, "tsNs", 0), b_ns = ada_json_u64(b->mark, "tsNs", 0);

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a_ns < b_ns ? -1 : a_ns > b_ns;
}

static struct candidate *make_candidates(const json_object *marks, size_t count)
{
	struct candidate *candidates = calloc(count + 1, sizeof *candidates);

	for (size_t i = 0; candidates && i < count; i++) {
		const json_object *mark = json_object_array_get_idx(marks, i);
		double ns = is_about_time(ada_json_text(mark, "kind", "")) ? json_object_get_double(ada_json_get(mark, "value")) : 0;

		candidates[i] = (struct candidate){ .mark = mark, .ns = ns > 0 && ns < 0x1p63 ? ns : 0 };
	}
	if (candidates && count)
		qsort(candidates, count, sizeof *candidates, compare_candidates);
	return candidates;
}

/* The same for marks of calls of one function, or of the times from one function to another. */
static uint64_t functions_of(const struct ada_process *process, const json_object *mark)
{
	uint64_t functions[2] = { ada_json_u64(mark, "functionId", ADA_NO_FUNCTION), ADA_NO_FUNCTION };
	struct ada_mark_span span;

	if (ada_mark_span(process, mark, &span) && span.position != UINT64_MAX)
		functions[1] = atf_thread_get(span.thread->events, span.position)->function_id;
	return ada_hash_bytes(functions, sizeof functions);
}

/* Of causes that are alike the longest; of all, the two longest. Takes what `asked` owns. */
static void keep_slowest(struct ada_headline best[2], struct ada_headline *asked)
{
	size_t at = best[0].found && best[0].key != asked->key;

	if (best[at].found && asked->took_ns <= best[at].took_ns) {
		ada_headline_free(asked);
		return;
	}
	ada_headline_free(&best[at]);
	best[at] = *asked;
	if (at && best[1].took_ns > best[0].took_ns) {
		best[1] = best[0];
		best[0] = *asked;
	}
}

/* Looks for the cause of a mark. What it is like; 0: it has none. */
static uint64_t ask(struct ada_story *story, struct ada_cause_reader *reader, const struct candidate *candidate, uint64_t number,
		    struct ada_headline best[2])
{
	const struct ada_recorded_window *window = &story->session->windows.items[number];
	const json_object *mark = candidate->mark;
	struct ada_headline asked = { .window = number, .mark = candidate->ns > 0 ? mark : NULL };
	uint64_t key;

	story->result = ada_cause_of_mark(reader, window->process, mark, &asked.cause);
	if (story->result || !asked.cause.found || (took(&asked.cause) < SLOW_NS && !is_about_time(ada_json_text(mark, "kind", "")))) {
		ada_headline_free(&asked);
		return 0;
	}
	asked.is_span = ada_mark_span(window->process, mark, &asked.span);
	asked.found = true;
	asked.took_ns = took(&asked.cause);
	asked.key = key = likeness(reader, &asked.cause);
	keep_slowest(best, &asked);
	return key;
}

/* How many marks are of the same functions, and how many of them were asked for their cause. */
static void count_marked(const struct ada_process *process, const struct candidate *candidates, size_t count, struct ada_headline *headline)
{
	uint64_t functions = headline->mark ? functions_of(process, headline->mark) : 0;

	headline->marked = headline->asked = headline->mark ? 0 : headline->calls;
	for (size_t i = 0; headline->mark && i < count && candidates[i].ns > 0; i++)
		if (functions_of(process, candidates[i].mark) == functions) {
			headline->marked++;
			headline->asked += candidates[i].asked;
		}
}

/* Whether it is worth a sentence beside the longest: something that others did, or that was waited for. What calls did for themselves, or had no
 * processor for, differs from one to the next. */
static bool is_another(const struct ada_headline *headline)
{
	switch (ada_cause_kind_of(&headline->cause)) {
	case ADA_CAUSE_LOCK:
	case ADA_CAUSE_DEADLOCK:
	case ADA_CAUSE_CONDITION:
	case ADA_CAUSE_SLEEP:
	case ADA_CAUSE_IO:
	case ADA_CAUSE_CHILD:
	case ADA_CAUSE_MESSAGE: return headline->found;
	default: return false;
	}
}

/* The two become a headline and what is told beside it. */
static void join(struct ada_headline best[2], struct ada_headline *headline)
{
	*headline = best[0];
	if (best[1].found && is_another(&best[1]))
		headline->other = malloc(sizeof *headline->other);
	if (headline->other)
		*headline->other = best[1];
	else
		ada_headline_free(&best[1]);
}

void ada_headline_find(struct ada_story *story, struct ada_cause_reader *reader, uint64_t number, struct ada_headline *headline)
{
	const struct ada_recorded_window *window = &story->session->windows.items[number];
	const json_object *marks = ada_json_get(window->entry, "marks");
	size_t count = ada_json_length(marks), asked[2] = {};
	struct candidate *candidates = make_candidates(marks, count);
	struct ada_headline best[2] = { { .window = number }, { .window = number } };
	uint64_t keys[2 * MARKS_ASKED] = {};

	if (!candidates)
		story->result = -ENOMEM;
	for (size_t i = 0; i < count && !story->result; i++) {
		bool of_time = candidates[i].ns > 0;

		if (asked[of_time] == MARKS_ASKED)
			continue;
		candidates[i].asked = true;
		keys[MARKS_ASKED * of_time + asked[of_time]++] = ask(story, reader, &candidates[i], number, best);
	}
	for (size_t k = 0; k < 2; k++) {
		best[k].more_marked = window->marked_count > count;
		for (size_t i = 0; i < 2 * MARKS_ASKED; i++)
			best[k].calls += best[k].key && keys[i] == best[k].key;
		if (candidates)
			count_marked(window->process, candidates, count, &best[k]);
	}
	join(best, headline);
	free(candidates);
	if (!headline->found && !story->result)
		ada_headline_panic_find(story, headline);
}

void ada_headline_free(struct ada_headline *headline)
{
	ada_cause_free(&headline->cause);
	ada_crash_free(&headline->crash);
	ada_panic_free(&headline->panic.what);
	if (headline->other)
		ada_headline_free(headline->other);
	free(headline->other);
	headline->other = NULL;
	headline->found = false;
}
