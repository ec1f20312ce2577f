/* Who ended one wait: who held what it was for, signalled it, wrote to it, or ended; see cause.h. */
#include <errno.h>
#include "base/interrupt.h"
#include "query/cause/internal.h"

#define ARENA_OFF_PART 20

/* Of a call that the event ends, it is not in any more. */
static int path_behind(struct ada_stack *path, const struct ada_thread *thread, uint64_t position)
{
	uint32_t kind = atf_thread_get(thread->events, position)->event_kind;
	int result = ada_cause_path_at(path, thread, position);

	path->frames.count -= !result && path->frames.count && (kind == ADA_EVENT_RETURN || kind == ADA_EVENT_EXCEPTION);
	return result;
}

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
	    ada_does_attempt(ada_cause_does(reader, link->thread->process, link->wait_function_id)))
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

/* Whose end it was, or is, that the thread waits for. */
static int find_ended_thread(struct ada_cause_link *link)
{
	const uint64_t *object = link->has_object ? &link->object : NULL;
	uint64_t behind, last_ns;

	link->culprit = object ? ada_cause_joined(link->thread, *object, link->wait_start_ns, link->wait_end_ns) : NULL;
	if (!link->culprit && !link->wait_open)
		link->culprit = ada_cause_ended(link->thread, link->wait_start_ns, link->wait_end_ns, object,
						ada_cause_has_object(link->thread, link->wait_position));
	behind = link->culprit ? atf_thread_lower_bound(link->culprit->events, link->wait_end_ns + 1) : 0;
	if (!behind) {
		link->culprit = NULL;
		return 0;
	}
	link->holders = 1;
	link->joined = link->culprit_open = link->wait_open;
	link->culprit_start_ns = link->wait_start_ns;
	link->culprit_first = link->culprit_last = behind - 1;
	last_ns = atf_thread_get(link->culprit->events, link->culprit_last)->timestamp_ns;
	/* It may have had no events meanwhile. */
	link->culprit_end_ns = link->wait_open || last_ns < link->wait_start_ns ? link->wait_end_ns : last_ns;
	return link->wait_open ? path_behind(&link->culprit_path, link->culprit, link->culprit_last) :
				 ada_stack_at(&link->culprit_path, link->culprit, link->culprit_last);
}

static int find_writer(struct ada_cause_reader *reader, struct ada_cause_link *link)
{
	if (link->wait_open || !link->counter || !ada_cause_writer(reader, link, &link->culprit, &link->culprit_first))
		return 0;
	link->holders = 1;
	link->culprit_last = link->culprit_first;
	link->culprit_start_ns = link->wait_start_ns;
	link->culprit_end_ns = atf_thread_get(link->culprit->events, link->culprit_first)->timestamp_ns;
	return ada_cause_path_at(&link->culprit_path, link->culprit, link->culprit_first);
}

/* Whether the thread may have spent that time, from its event `first` on, in the allocator: of one without any event meanwhile the innermost
 * open call alone does. */
static int may_allocate(struct ada_cause_reader *reader, const struct ada_spending *spending, bool *may)
{
	const struct ada_event *next = atf_thread_get(spending->thread->events, spending->first);
	const struct ada_frame *frame;
	struct ada_lookback back;
	int result;

	*may = true;
	if (next && next->timestamp_ns < spending->to_ns)
		return 0;
	ada_lookback_open(&back, spending->thread, spending->first);
	result = ada_lookback_get(&back, 0, &frame);
	*may = !result && frame && ada_cause_does(reader, spending->thread->process, frame->function_id) == ADA_DOES_ALLOCATE;
	ada_lookback_close(&back);
	return result;
}

/* Whether another thread was in the allocator for most of that time. 0 or -errno; once the budget is used up no further thread is looked at. */
static int others_allocate(struct ada_cause_reader *reader, const struct ada_thread *but, uint64_t from_ns, uint64_t to_ns, bool *allocate)
{
	const struct ada_process *process = but->process;
	int result = 0;

	*allocate = false;
	for (size_t i = 0; i < process->thread_count && !result && !*allocate && reader->budget; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];
		struct ada_spending spending = { .thread = thread, .from_ns = from_ns, .to_ns = to_ns };
		bool may;

		if (thread == but || (thread->end_ns && thread->end_ns < from_ns) || !ada_cause_lived(reader, thread, 0, to_ns))
			continue;
		spending.first = atf_thread_lower_bound(thread->events, from_ns);
		result = ada_interrupted() ? -EINTR : may_allocate(reader, &spending, &may);
		if (result || !may)
			continue;
		result = ada_cause_spend(reader, &spending);
		*allocate = !result && spending.found && spending.allocating_ns * 2 >= to_ns - from_ns;
	}
	return result;
}

/* Whether slow calls of the allocator waited for another thread: one call of its own time; of many calls, where they were off the CPU for
 * a part of their time at least, of all the time in which they were made. */
static int waits_for_arena(struct ada_cause_reader *reader, const struct ada_cause_link *link, const struct ada_spending *spending,
			   bool *waits)
{
	int result = others_allocate(reader, link->thread, link->wait_start_ns, link->wait_end_ns, waits);

	if (!result && !*waits && link->spells > 1 && spending->allocating_off_ns * ARENA_OFF_PART >= link->spent_ns)
		result = others_allocate(reader, link->thread, link->start_ns, link->end_ns, waits);
	return result;
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

int ada_cause_find_culprit(struct ada_cause_reader *reader, struct ada_cause_link *link, const struct ada_spending *spending)
{
	struct ada_question question = question_of(link);
	enum ada_does does = spending->most.does;
	bool waits = true;
	int result = 0;

	if ((link->kind == ADA_CAUSE_RUNQUEUE || link->kind == ADA_CAUSE_THROTTLED) && !held_meanwhile(reader, link, does))
		return 0; /* it was free to go on: nobody held it up */
	/* Nobody sees what the allocator waits for; that it was ready to run is known. */
	if (does == ADA_DOES_ALLOCATE)
		result = waits_for_arena(reader, link, spending, &waits);
	if (result)
		return result;
	if (!waits)
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
	case ADA_DOES_IO:
	case ADA_DOES_COUNTER_WAIT: return find_writer(reader, link);
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
