/* From a call to what it waited for, to who held that, to what that one waited for: see cause.h. */
#include <errno.h>
#include <stdlib.h>
#include "base/interrupt.h"
#include "query/cause/internal.h"

#define LINKS_MAX 16
#define ARENA_OFF_PART 20
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

/* Of a call that the event ends, it is not in any more. */
static int path_behind(struct ada_stack *path, const struct ada_thread *thread, uint64_t position)
{
	uint32_t kind = atf_thread_get(thread->events, position)->event_kind;
	int result = ada_cause_path_at(path, thread, position);

	path->frames.count -= !result && path->frames.count && (kind == ADA_EVENT_RETURN || kind == ADA_EVENT_EXCEPTION);
	return result;
}

/* --- who ended a wait --------------------------------------------------------------------------------------------------- */

static struct ada_question question_of(const struct ada_cause_link *link)
{
	return (struct ada_question){ .thread = link->thread,
				      .object = link->object,
				      .from_ns = link->wait_start_ns,
				      .to_ns = link->wait_end_ns,
				      .open = link->wait_open,
				      .by_detail = !ada_cause_has_object(link->thread, link->wait_position),
				      .mutex = ada_cause_is_mutex(link->thread->process, link->wait_function_id),
				      .position = link->wait_position };
}

/* Who held it longest, of these holds; link->culprit is NULL where nobody did. */
static int take_holder(struct ada_cause_link *link, const struct ada_holds *holds)
{
	link->holders = holds->threads;
	link->holds = holds->times;
	link->held_ns = holds->overlap_ns;
	link->culprit = holds->longest.thread;
	if (!link->culprit)
		return 0;
	link->culprit_start_ns = holds->longest.start_ns;
	link->culprit_end_ns = holds->longest.end_ns;
	link->culprit_first = holds->longest.first;
	link->culprit_longer = holds->longest.partly;
	link->culprit_open = holds->longest.last == UINT64_MAX;
	link->culprit_last = link->culprit_open ? holds->longest.first : holds->longest.last;
	return holds->longest.filtered ? path_behind(&link->culprit_path, link->culprit, link->culprit_first) :
					 ada_cause_path_at(&link->culprit_path, link->culprit, link->culprit_first);
}

static int find_holder(struct ada_cause_reader *reader, struct ada_cause_link *link, const struct ada_question *question)
{
	struct ada_question at_end = *question;
	struct ada_holds holds;
	int result = link->once ? ada_cause_initialiser(reader, question, &holds) : ada_cause_holds(reader, question, &holds);

	/* Attempts may have ended without the object: whoever had it then needn't have touched it meanwhile. */
	at_end.open = true;
	if (!result && !holds.longest.thread && !question->open &&
	    ada_cause_does(reader, link->thread->process, link->wait_function_id) == ADA_DOES_TRY_LOCK)
		result = ada_cause_holds(reader, &at_end, &holds);
	if (result)
		return result;
	if (!holds.longest.thread && question->open && !link->once)
		ada_cause_own_hold(reader, question, &holds);
	/* Nobody held it meanwhile, as far as all was read: then this was no wait for it. */
	if (!holds.longest.thread && (link->once || (!holds.exhausted && !question->by_detail && !question->open)))
		link->kind = ADA_CAUSE_UNKNOWN;
	return take_holder(link, &holds);
}

static int find_stream_holder(struct ada_cause_reader *reader, struct ada_cause_link *link, enum ada_does does)
{
	struct ada_question question = question_of(link);
	struct ada_holds holds;
	int result;

	if (!ada_cause_object(link->thread, link->wait_position, does, 0, &question.object))
		return 0;
	result = ada_cause_stream_holds(reader, &question, &holds);
	if (!result && !holds.longest.thread)
		ada_cause_child(reader, link, does);
	if (result || !holds.longest.thread)
		return result;
	link->kind = ADA_CAUSE_LOCK;
	link->stream = link->has_object = true;
	link->object = question.object;
	return take_holder(link, &holds);
}

static int find_waker(struct ada_cause_reader *reader, struct ada_cause_link *link, const struct ada_question *question, enum ada_does does)
{
	struct ada_operation by;

	link->culprit = link->gave_up || link->wait_open ? NULL : ada_cause_waker(reader, question, does, false, &by);
	link->woken = link->culprit && does == ADA_DOES_FUTEX;
	if (!link->culprit) {
		/* Only a condition forgets a signal that comes while nobody waits. */
		link->culprit = does == ADA_DOES_COND_WAIT ? ada_cause_waker(reader, question, does, true, &by) : NULL;
		if (link->culprit && ada_cause_consumed(reader, question, does, by.ns))
			link->culprit = NULL;
		link->came_before = link->culprit;
	}
	if (!link->culprit)
		return 0;
	link->holders = 1;
	link->culprit_start_ns = link->came_before ? by.ns : link->wait_start_ns;
	link->culprit_end_ns = by.ns;
	link->culprit_first = link->culprit_last = by.position;
	return ada_cause_path_at(&link->culprit_path, link->culprit, by.position);
}

static int find_ended_thread(struct ada_cause_link *link)
{
	link->culprit = link->wait_open ? NULL :
					  ada_cause_ended(link->thread, link->wait_start_ns, link->wait_end_ns,
							  link->has_object ? &link->object : NULL);
	if (!link->culprit)
		return 0;
	link->holders = 1;
	link->culprit_start_ns = link->wait_start_ns;
	link->culprit_first = link->culprit_last = link->culprit->count - 1;
	link->culprit_end_ns = atf_thread_get(link->culprit->events, link->culprit_last)->timestamp_ns;
	return ada_stack_at(&link->culprit_path, link->culprit, link->culprit_last);
}

/* Whether another thread was in the allocator for most of that time. */
static bool others_allocate(struct ada_cause_reader *reader, const struct ada_thread *but, uint64_t from_ns, uint64_t to_ns)
{
	const struct ada_process *process = but->process;

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];
		struct ada_spending spending = { .thread = thread, .from_ns = from_ns, .to_ns = to_ns };

		if (thread == but || !thread->events)
			continue;
		spending.first = atf_thread_lower_bound(thread->events, from_ns);
		if (!ada_cause_spend(reader, &spending) && spending.found && spending.allocating_ns * 2 >= to_ns - from_ns)
			return true;
	}
	return false;
}

/* Whether slow calls of the allocator waited for another thread: one call of its own time; of many calls, where they were off the CPU for
 * a part of their time at least, of all the time in which they were made. */
static bool waits_for_arena(struct ada_cause_reader *reader, const struct ada_cause_link *link, const struct ada_spending *spending)
{
	if (others_allocate(reader, link->thread, link->wait_start_ns, link->wait_end_ns))
		return true;
	return link->spells > 1 && spending->allocating_off_ns * ARENA_OFF_PART >= link->spent_ns &&
	       others_allocate(reader, link->thread, link->start_ns, link->end_ns);
}

/* Somebody's signal or arrival ended the wait; a wait for a condition may have waited longer for its mutex. */
static int find_signal(struct ada_cause_reader *reader, struct ada_cause_link *link, enum ada_does does)
{
	struct ada_question question = question_of(link);
	struct ada_holds holds;
	uint64_t mutex;
	int result = find_waker(reader, link, &question, does);

	if (result || does != ADA_DOES_COND_WAIT || !link->culprit || link->came_before || link->wait_open ||
	    link->wait_end_ns - link->culprit_end_ns <= link->culprit_end_ns - link->wait_start_ns ||
	    !ada_cause_object(link->thread, link->wait_position, does, 1, &mutex))
		return result;
	question.object = mutex;
	question.mutex = true;
	question.from_ns = link->culprit_end_ns;
	result = ada_cause_holds(reader, &question, &holds);
	/* It may as well have waited for a CPU: whoever had the mutex for a moment didn't keep it from going on. */
	if (result || !holds.longest.thread || (holds.threads == 1 && holds.longest.overlap_ns * 2 < question.to_ns - question.from_ns))
		return result;
	ada_stack_close(&link->culprit_path);
	link->culprit_path = (struct ada_stack){};
	link->kind = ADA_CAUSE_LOCK;
	link->object = mutex;
	link->wait_start_ns = question.from_ns;
	link->spent_ns = link->wait_end_ns - link->wait_start_ns;
	return take_holder(link, &holds);
}

/* Whether somebody held the lock for most of the time in which the thread had no CPU, and would have spun. Then that is the cause. */
static bool held_meanwhile(struct ada_cause_reader *reader, struct ada_cause_link *link, enum ada_does does)
{
	struct ada_question question = question_of(link);
	struct ada_holds holds;

	if (does != ADA_DOES_LOCK || !link->has_object || ada_cause_holds(reader, &question, &holds) || !holds.longest.thread ||
	    holds.longest.overlap_ns * 2 < link->wait_end_ns - link->wait_start_ns)
		return false;
	link->kind = ADA_CAUSE_LOCK;
	link->spent_ns = link->wait_end_ns - link->wait_start_ns;
	return true;
}

static int find_culprit(struct ada_cause_reader *reader, struct ada_cause_link *link, const struct ada_spending *spending)
{
	struct ada_question question = question_of(link);
	enum ada_does does = spending->most.does;

	if ((link->kind == ADA_CAUSE_RUNQUEUE || link->kind == ADA_CAUSE_THROTTLED) && !held_meanwhile(reader, link, does))
		return 0; /* it was free to go on: nobody held it up */
	/* Nobody sees what the allocator waits for; that it was ready to run is known. */
	if (does == ADA_DOES_ALLOCATE && !waits_for_arena(reader, link, spending))
		link->kind = spending->allocating_ready_ns * 2 >= link->spent_ns ? ADA_CAUSE_PREEMPTED : ADA_CAUSE_UNKNOWN;
	if (link->kind == ADA_CAUSE_CHILD)
		ada_cause_child(reader, link, does);
	if (does == ADA_DOES_JOIN)
		return find_ended_thread(link);
	if (ada_does_to_stream(does))
		return find_stream_holder(reader, link, does);
	if (!link->has_object && link->once)
		link->kind = ADA_CAUSE_UNKNOWN; /* it may as well have run the initialiser */
	if (!link->has_object)
		return 0;
	switch (does) {
	case ADA_DOES_LOCK:
	case ADA_DOES_ONCE:
	case ADA_DOES_TRY_LOCK: return find_holder(reader, link, &question);
	case ADA_DOES_COND_WAIT:
	case ADA_DOES_SEM_WAIT:
	case ADA_DOES_BARRIER:
	case ADA_DOES_FUTEX: return find_signal(reader, link, does);
	default: return 0;
	}
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
		result = find_culprit(reader, link, spending);
	return !result && link->kind == ADA_CAUSE_PREEMPTED ? blame_preemptor(link, spending) : result;
}

/* The time in which the culprit kept the link's thread waiting. */
static void culprit_time(const struct ada_cause_link *link, uint64_t *from_ns, uint64_t *to_ns)
{
	*from_ns = link->culprit_start_ns > link->wait_start_ns ? link->culprit_start_ns : link->wait_start_ns;
	*to_ns = link->culprit_end_ns < link->wait_end_ns ? link->culprit_end_ns : link->wait_end_ns;
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
	bool ends = last->kind != ADA_CAUSE_LOCK;
	int result;

	*more = false;
	if (!last->culprit || last->came_before || last->kind == ADA_CAUSE_PREEMPTED || cause->links.count == LINKS_MAX)
		return 0;
	for (size_t i = 0; i < cause->links.count; i++)
		if (cause->links.items[i].thread == last->culprit) {
			cause->deadlock = last->kind == ADA_CAUSE_LOCK && !last->woken;
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

void ada_cause_free(struct ada_cause *cause)
{
	for (size_t i = 0; i < cause->links.count; i++) {
		free(cause->links.items[i].opened);
		free(cause->links.items[i].peer);
		free(cause->links.items[i].command);
		ada_stack_close(&cause->links.items[i].path);
		ada_stack_close(&cause->links.items[i].culprit_path);
	}
	ada_array_free(&cause->links);
}
