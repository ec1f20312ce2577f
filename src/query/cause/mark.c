/* Which call a mark is about. */
#include <errno.h>
#include "base/interrupt.h"
#include "query/cause/internal.h"
#include "query/session/windows.h"

#define HANG_NS 100000000 /* an open wait that is shorter is no hang */
#define ASKED_MAX 64	  /* threads that are looked at */

/* How much a cause says of a hang; 0: nothing. */
static int weight(const struct ada_cause *cause)
{
	const struct ada_cause_link *link = cause->links.items;

	if (!cause->found || !link->wait_open || link->wait_end_ns - link->wait_start_ns < HANG_NS)
		return 0;
	if (cause->deadlock)
		return 4;
	if (link->kind == ADA_CAUSE_LOCK && link->culprit)
		return 3;
	return link->kind == ADA_CAUSE_CONDITION && link->came_before ? 2 : 0;
}

/* The innermost call that is open on the thread at that time; false: none, or it began too late to be a hang. */
static bool find_open(const struct ada_thread *thread, uint64_t ns, uint64_t *position, int *result)
{
	uint64_t end = thread->events ? atf_thread_lower_bound(thread->events, ns + 1) : 0;
	const struct ada_event *last = end ? atf_thread_get(thread->events, end - 1) : NULL;
	struct ada_stack stack;
	bool found;

	*result = 0;
	if (!last || end != thread->count)
		return false;
	*result = ada_stack_at(&stack, thread, end);
	if (*result)
		return false;
	found = stack.frames.count > 0;
	if (found)
		*position = stack.frames.items[stack.frames.count - 1].position;
	ada_stack_close(&stack);
	return found;
}

static int find_hang(struct ada_cause_reader *reader, const struct ada_process *process, uint64_t ns, struct ada_cause *best)
{
	int result = 0, best_weight = 0;

	for (size_t i = 0; i < process->thread_count && i < ASKED_MAX && !result; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];
		struct ada_cause cause = {};
		uint64_t position;

		if (ada_interrupted())
			return -EINTR;
		if (!find_open(thread, ns, &position, &result))
			continue;
		result = ada_cause_find(reader, thread, position, &cause);
		if (!result && weight(&cause) > best_weight) {
			best_weight = weight(&cause);
			ada_cause_free(best);
			*best = cause;
		} else {
			ada_cause_free(&cause);
		}
	}
	return result;
}

int ada_cause_of_hang(struct ada_cause_reader *reader, const struct ada_process *process, struct ada_cause *cause)
{
	*cause = (struct ada_cause){};
	return find_hang(reader, process, UINT64_MAX - 1, cause);
}

int ada_cause_of_mark(struct ada_cause_reader *reader, const struct ada_process *process, const json_object *mark, struct ada_cause *cause)
{
	const struct ada_thread *thread;
	uint64_t position;
	struct ada_mark_span span;

	*cause = (struct ada_cause){};
	if (ada_mark_span(process, mark, &span))
		return ada_mark_event(process, mark, &thread, &position) ? ada_cause_since(reader, thread, position, span.begin_ns, cause) :
									   0;
	/* What a rule says of an event names its function. */
	if (ada_mark_event(process, mark, &thread, &position) && json_object_is_type(ada_json_get(mark, "functionId"), json_type_int))
		return ada_cause_find(reader, thread, position, cause);
	return find_hang(reader, process, ada_json_u64(mark, "tsNs", UINT64_MAX - 1), cause);
}
