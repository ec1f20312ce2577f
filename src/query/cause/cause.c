/* From a call to what it waited for, to who held that, to what that one waited for: see cause.h. */
#include <errno.h>
#include <stdlib.h>
#include "base/interrupt.h"
#include "query/cause/internal.h"

#define LINKS_MAX 16
#define FOLLOW_EVENTS (1u << 20) /* read of what a culprit did meanwhile: some 25 ms */

int ada_cause_path_at(struct ada_stack *path, const struct ada_thread *thread, uint64_t position)
{
	const struct ada_event *event = atf_thread_get(thread->events, position);
	int result = ada_stack_at(path, thread, position);

	if (!result && event && event->event_kind == ADA_EVENT_CALL)
		result = ada_array_push(&path->frames,
					((struct ada_frame){ position, event->function_id, event->timestamp_ns, event->call_depth }));
	return result;
}

/* --- links -------------------------------------------------------------------------------------------------------------- */

/* Events of the thread up to where it got the CPU for the longest spell; of a thread that had not begun by then, to the spell's end, or
 * else to the call's: it had the CPU in another spell. */
static uint64_t events_until_it_ran(const struct ada_thread *thread, const struct ada_cause_link *link)
{
	const uint64_t times[] = { link->wait_start_ns, link->wait_end_ns, link->end_ns };
	uint64_t count = 0;

	for (size_t i = 0; i < sizeof times / sizeof *times && !count && thread->events; i++)
		count = atf_thread_lower_bound(thread->events, times[i] + 1);
	return count;
}

/* Who had the CPU instead, where that is a thread of the process, and where it was then. */
static int blame_preemptor(struct ada_cause_link *link, const struct ada_spending *spending)
{
	const struct ada_process *process = link->thread->process;
	uint32_t tid = spending->preemptor;

	for (size_t i = 0; i < process->thread_count && tid; i++) {
		const struct ada_thread *thread = &process->session->threads.items[process->first_thread + i];
		uint64_t behind = thread->tid == tid ? events_until_it_ran(thread, link) : 0;

		if (!behind)
			continue;
		link->culprit = thread;
		link->holders = spending->rivals;
		link->had_ns = spending->preemptor_ns;
		link->culprit_start_ns = link->wait_start_ns;
		link->culprit_end_ns = link->wait_end_ns;
		link->culprit_first = link->culprit_last = behind - 1;
		return ada_cause_path_at(&link->culprit_path, thread, behind - 1);
	}
	return 0;
}

static int fill_link(struct ada_cause_reader *reader, struct ada_cause_link *link, const struct ada_spending *spending)
{
	const struct ada_spent *most = &spending->most;
	uint64_t events;
	int result;

	link->kind = most->kind;
	link->recorder_ns = spending->recorder_ns;
	link->spent_ns = most->ns;
	link->spells = most->spells;
	link->wait_position = most->position;
	link->wait_function_id = most->function_id;
	link->wait_start_ns = most->start_ns;
	link->wait_end_ns = most->end_ns;
	link->wait_open = most->open;
	link->has_object = most->has_object;
	link->once = most->does == ADA_DOES_ONCE;
	link->object = most->object;
	link->faults = most->faults;
	link->ran_ns = most->ran_ns;
	link->returns = most->returns;
	link->off_cpu = most->off;
	if (ada_does_to_descriptor(most->does))
		link->has_object = ada_cause_object(link->thread, most->position, most->does, 0, &link->object);
	if (ada_does_to_descriptor(most->does) && link->has_object)
		ada_cause_descriptor(reader, link, most->does);
	events = atf_thread_lower_bound(link->thread->events, link->end_ns) - atf_thread_lower_bound(link->thread->events, link->start_ns);
	if (link->kind == ADA_CAUSE_UNKNOWN && !link->off_cpu && events && (link->end_ns - link->start_ns) / events <= ADA_RAN_EVENT_NS)
		link->kind = ADA_CAUSE_CPU;
	result = ada_cause_path_at(&link->path, link->thread, link->wait_position);
	if (most->does == ADA_DOES_FUTEX && ada_futex_is_condition(link->thread->process, &link->path))
		link->kind = ADA_CAUSE_CONDITION;
	link->gave_up = !link->wait_open && ada_cause_gave_up(link->thread, link->wait_position, most->does);
	if (!result && link->kind != ADA_CAUSE_PREEMPTED)
		result = ada_cause_find_culprit(reader, link, spending);
	return !result && link->kind == ADA_CAUSE_PREEMPTED ? blame_preemptor(link, spending) : result;
}

/* The time in which the culprit kept the link's thread waiting. */
static void culprit_time(const struct ada_cause_link *link, uint64_t *from_ns, uint64_t *to_ns)
{
	*from_ns = link->culprit_start_ns > link->wait_start_ns ? link->culprit_start_ns : link->wait_start_ns;
	*to_ns = link->culprit_end_ns < link->wait_end_ns ? link->culprit_end_ns : link->wait_end_ns;
	/* What keeps a thread from its end is what it is in; what it did before, for however long, isn't. */
	if (link->joined && link->culprit_path.frames.count) {
		uint64_t since_ns = link->culprit_path.frames.items[link->culprit_path.frames.count - 1].start_ns;

		*from_ns = since_ns > *from_ns && since_ns < *to_ns ? since_ns : *from_ns;
	}
}

/* Of a time with too many events, which are not all read, the part that has the fewest: what was waited for is where few are. */
static bool take_part(const struct ada_thread *thread, uint64_t *from_ns, uint64_t *to_ns)
{
	uint64_t first = atf_thread_lower_bound(thread->events, *from_ns), end = atf_thread_lower_bound(thread->events, *to_ns);
	bool part = false;

	while (end > first + FOLLOW_EVENTS && *to_ns - *from_ns > 1) {
		uint64_t middle_ns = *from_ns + (*to_ns - *from_ns) / 2;
		uint64_t middle = atf_thread_lower_bound(thread->events, middle_ns);
		bool later = end - middle < middle - first;

		*(later ? &first : &end) = middle;
		*(later ? from_ns : to_ns) = middle_ns;
		part = true;
	}
	return part;
}

/* What the last link's culprit did meanwhile. *more: there is a further link to follow. */
static int follow_culprit(struct ada_cause_reader *reader, struct ada_cause *cause, bool *more)
{
	const struct ada_cause_link *last = &cause->links.items[cause->links.count - 1];
	struct ada_cause_link link = { .thread = last->culprit };
	struct ada_spending spending = { .thread = last->culprit };
	bool ends = last->kind != ADA_CAUSE_LOCK && !last->joined;
	int result;

	*more = false;
	if (!last->culprit || last->came_before || last->kind == ADA_CAUSE_PREEMPTED || cause->links.count == LINKS_MAX)
		return 0;
	for (size_t i = 0; i < cause->links.count; i++)
		if (cause->links.items[i].thread == last->culprit) {
			cause->deadlock = last->joined || (last->kind == ADA_CAUSE_LOCK && !last->woken);
			cause->cycle = i;
			return 0;
		}
	culprit_time(last, &spending.from_ns, &spending.to_ns);
	link.part = take_part(last->culprit, &spending.from_ns, &spending.to_ns);
	spending.first = atf_thread_lower_bound(link.thread->events, spending.from_ns);
	link.start_ns = spending.from_ns;
	link.end_ns = spending.to_ns;
	link.open = last->wait_open;
	result = ada_cause_spend(reader, &spending);
	if (result || !spending.found)
		return result;
	link.position = spending.most.position;
	link.function_id = spending.most.function_id;
	result = fill_link(reader, &link, &spending);
	if (!result)
		result = ada_array_push(&cause->links, link);
	*more = !result && !ends && link.culprit;
	return result;
}

/* The CALL that the event at `position` begins or ends. */
static bool find_call(const struct ada_thread *thread, uint64_t position, uint64_t *call, int *result)
{
	const struct ada_event *event = atf_thread_get(thread->events, position);
	struct ada_stack stack;
	bool found = false;

	*call = position;
	*result = 0;
	if (!event || event->event_kind < ADA_EVENT_CALL || event->event_kind > ADA_EVENT_EXCEPTION)
		return false;
	if (event->event_kind == ADA_EVENT_CALL)
		return true;
	*result = ada_stack_at(&stack, thread, position);
	for (size_t i = stack.frames.count; !*result && i-- > 0 && !found;)
		if (stack.frames.items[i].depth == event->call_depth && stack.frames.items[i].function_id == event->function_id) {
			*call = stack.frames.items[i].position;
			found = true;
		}
	if (!*result)
		ada_stack_close(&stack);
	return found;
}

/* The first link, of that time on its thread; then all that follow from it. */
static int chain_make(struct ada_cause_reader *reader, struct ada_cause_link *link, const struct ada_spending *spending,
		      struct ada_cause *cause)
{
	bool more = true;
	int result = fill_link(reader, link, spending);

	if (!result)
		result = ada_array_push(&cause->links, *link);
	cause->found = !result;
	while (!result && more)
		result = ada_interrupted() ? -EINTR : follow_culprit(reader, cause, &more);
	return result;
}

int ada_cause_find(struct ada_cause_reader *reader, const struct ada_thread *thread, uint64_t position, struct ada_cause *cause)
{
	struct ada_cause_link link = { .thread = thread };
	struct ada_spending spending = { .thread = thread, .to_ns = UINT64_MAX, .of_call = true };
	const struct ada_event *call;
	int result;

	*cause = (struct ada_cause){ .reader = reader };
	reader->budget = ADA_CAUSE_BUDGET;
	if (!thread->events || !find_call(thread, position, &spending.first, &result))
		return thread->events ? result : 0;
	call = atf_thread_get(thread->events, spending.first);
	spending.from_ns = call->timestamp_ns;
	spending.to_ns = ada_process_end_ns(thread->process);
	result = ada_cause_spend(reader, &spending);
	if (result || !spending.found)
		return result;
	link.position = spending.first;
	link.function_id = call->function_id;
	link.start_ns = spending.from_ns;
	link.end_ns = spending.end_ns;
	link.open = spending.open;
	return chain_make(reader, &link, &spending, cause);
}

int ada_cause_since(struct ada_cause_reader *reader, const struct ada_thread *thread, uint64_t position, uint64_t from_ns,
		    struct ada_cause *cause)
{
	const struct ada_event *event = thread->events ? atf_thread_get(thread->events, position) : NULL;
	struct ada_cause_link link = { .thread = thread, .position = position, .start_ns = from_ns };
	struct ada_spending spending = { .thread = thread, .from_ns = from_ns };
	int result;

	*cause = (struct ada_cause){ .reader = reader };
	reader->budget = ADA_CAUSE_BUDGET;
	if (!event || event->timestamp_ns <= from_ns)
		return 0;
	link.function_id = event->function_id;
	link.end_ns = spending.to_ns = event->timestamp_ns;
	spending.first = atf_thread_lower_bound(thread->events, from_ns);
	result = ada_cause_spend(reader, &spending);
	return result || !spending.found ? result : chain_make(reader, &link, &spending, cause);
}

const struct ada_cause_link *ada_cause_root(const struct ada_cause *cause)
{
	return &cause->links.items[cause->links.count - 1];
}

enum ada_cause_kind ada_cause_kind_of(const struct ada_cause *cause)
{
	return cause->deadlock ? ADA_CAUSE_DEADLOCK : cause->links.items[0].kind;
}

void ada_cause_link_free(struct ada_cause_link *link)
{
	free(link->opened);
	free(link->peer);
	free(link->noted);
	free(link->command);
	ada_stack_close(&link->path);
	ada_stack_close(&link->culprit_path);
}

void ada_cause_free(struct ada_cause *cause)
{
	for (size_t i = 0; i < cause->links.count; i++)
		ada_cause_link_free(&cause->links.items[i]);
	ada_array_free(&cause->links);
}
