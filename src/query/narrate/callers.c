/* Which callers of a function called it for the first time in a window, where others had called it before. */
#include <errno.h>
#include <stdlib.h>
#include "query/narrate/parts.h"
#include "query/session/mutes.h"

#define TOLD 3
#define CALLS_KNOWN 10 /* calls by others before; with fewer no caller counts as new */

struct new_caller {
	const struct ada_edge *edge, *before; /* the earliest of the other callers */
	uint64_t others, calls;		      /* other callers that came before, and their calls in the recording */
};

/* Edges of one callee lie together: by callee, then by time. */
static int compare_edges(const void *left, const void *right)
{
	const struct ada_edge *a = *(const struct ada_edge *const *)left, *b = *(const struct ada_edge *const *)right;

	if (a->callee_key != b->callee_key)
		return a->callee_key < b->callee_key ? -1 : 1;
	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns ? -1 : 1;
	return a->caller_key < b->caller_key ? -1 : a->caller_key > b->caller_key;
}

static int compare_new(const void *left, const void *right)
{
	const struct new_caller *a = left, *b = right;

	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return compare_edges(&a->edge, &b->edge);
}

static bool is_here(const struct ada_story *story, const struct ada_edge *edge, const struct ada_recorded_window *window)
{
	uint64_t first, end;

	return edge->thread && ada_narrate_range(story, edge->thread, window, &first, &end) && edge->first_position >= first &&
	       edge->first_position < end;
}

/* Whether calls by it may be missing from before, or calls between: then it is as well another caller's, and not the first. */
static bool may_be_older(const struct ada_edge *edge)
{
	struct ada_muted muted;

	for (size_t i = 0; ada_process_muted(edge->thread->process, i, &muted); i++)
		if (!muted.filtered && muted.from_ns <= edge->first_ns && muted.from_ns < muted.to_ns)
			return true;
	return false;
}

static void caller_tell(struct ada_story *story, const struct new_caller *caller)
{
	char name[ADA_WORDS_NAME], from[ADA_WORDS_NAME] = "no recorded function", before[ADA_WORDS_NAME], number[ADA_WORDS];
	char buffer[ADA_NAME_BUFFER];
	const struct ada_edge *edge = caller->edge;
	const struct ada_process *process = edge->thread->process;

	/* Function ids are a process's: these are of the one that has the first such call. */
	ada_words_source(story, process, atf_thread_get(edge->thread->events, edge->first_position)->function_id, name);
	if (edge->caller_id != ADA_NO_FUNCTION) {
		struct ada_stack stack;

		if (ada_narrate_stack(story, &stack, edge->thread, edge->first_position))
			return;
		if (stack.frames.count)
			ada_words_source(story, process, stack.frames.items[stack.frames.count - 1].function_id, from);
		ada_stack_close(&stack);
	}
	if (caller->others == 1) {
		const struct ada_edge *other = caller->before;

		if (other->caller_id == ADA_NO_FUNCTION)
			snprintf(before, sizeof before, "no recorded function");
		else
			snprintf(before, sizeof before, "%.200s", ada_module_function(other->caller_module, other->caller_id, buffer));
	} else {
		snprintf(before, sizeof before, "%llu other functions", (unsigned long long)caller->others);
	}
	ada_narrate_say(story, "new-caller",
			"On thread %u %s was called by %s for the first time in this recording; before that %s had"
			" called it (%s calls in the whole recording)%s.",
			edge->thread->number, name, from, before, ada_format_grouped(caller->calls, number),
			ada_narrate_edges(story)->completeness.lost ? ", as far as the events say that were not lost" : "");
	ada_narrate_cite(story, caller->before->thread, caller->before->first_position, caller->before->first_position);
	ada_narrate_cite(story, edge->thread, edge->first_position, edge->first_position);
}

void ada_narrate_new_callers(struct ada_story *story, const struct ada_recorded_window *window)
{
	const struct ada_edges *edges = ada_narrate_edges(story);
	const struct ada_edge **order = calloc(edges->edges.count + 1, sizeof *order);
	ADA_ARRAY(struct new_caller) found = {};
	struct new_caller caller = {};

	for (size_t i = 0; order && i < edges->edges.count; i++)
		order[i] = &edges->edges.items[i];
	if (order)
		qsort(order, edges->edges.count, sizeof *order, compare_edges);
	else
		story->result = -ENOMEM;
	for (size_t i = 0; order && i < edges->edges.count; i++) {
		const struct ada_edge *edge = order[i];

		if (!i || order[i - 1]->callee_key != edge->callee_key)
			caller = (struct new_caller){ .before = edge };
		caller.edge = edge;
		if (caller.calls >= CALLS_KNOWN && is_here(story, edge, window) && caller.before->thread &&
		    edge->caller_key != edge->callee_key && !may_be_older(edge) && ada_array_push(&found, caller))
			story->result = -ENOMEM;
		caller.others++;
		caller.calls += edge->calls;
	}
	if (found.count)
		qsort(found.items, found.count, sizeof *found.items, compare_new);
	for (size_t i = 0; i < found.count && i < TOLD; i++)
		caller_tell(story, &found.items[i]);
	if (found.count > TOLD) {
		ada_narrate_say(story, "new-caller-more", "%zu more function%s called from a new place.", found.count - TOLD,
				found.count - TOLD == 1 ? " was" : "s were");
		for (size_t i = TOLD; i < found.count && i < TOLD + 64; i++)
			ada_narrate_cite(story, found.items[i].edge->thread, found.items[i].edge->first_position,
					 found.items[i].edge->first_position);
	}
	ada_array_free(&found);
	free(order);
}
