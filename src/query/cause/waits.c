/* All waits of threads, for tables: one pass finds them, a second one finds who ended them. */
#include <errno.h>
#include <stdlib.h>
#include "base/interrupt.h"
#include "query/cause/internal.h"
#include "query/session/stretch.h"

struct finding {
	struct ada_cause_reader *reader;
	const struct ada_thread *thread;
	struct ada_waits *waits;
	int result;
};

/* Whether another thread ran the initialiser, or had locked the stream, meanwhile: else the time was this one's own or nobody knows. */
static bool waits_for_holder(struct finding *finding, const struct ada_call *call, struct ada_wait *wait)
{
	struct ada_question question = { .thread = finding->thread,
					 .object = wait->object,
					 .from_ns = call->start_ns,
					 .to_ns = call->end_ns,
					 .position = call->position,
					 .open = call->outcome == ADA_OUTCOME_OPEN };
	struct ada_holds holds;

	if (!wait->has_object)
		return false;
	finding->reader->budget = ADA_CAUSE_BUDGET;
	finding->result = wait->does == ADA_DOES_ONCE ? ada_cause_initialiser(finding->reader, &question, &holds) :
							ada_cause_stream_holds(finding->reader, &question, &holds);
	if (holds.longest.thread && !question.open && holds.longest.last != UINT64_MAX) {
		wait->ended_by = holds.longest.thread;
		wait->ended_by_position = holds.longest.last;
	}
	return holds.longest.thread;
}

static void on_ended(void *context, const struct ada_call *call)
{
	struct finding *finding = context;
	enum ada_does does = ada_cause_does(finding->reader, finding->thread->process, call->function_id);
	enum ada_cause_kind kind = ada_does_wait(does);
	struct ada_wait wait = { .thread = finding->thread, .kind = kind, .does = does };

	/* The allocator's locks are nobody's to see: one that took long may have had other reasons. */
	if (call->outcome == ADA_OUTCOME_UNKNOWN || kind == ADA_CAUSE_UNKNOWN || does == ADA_DOES_ALLOCATE ||
	    call->end_ns - call->start_ns < ADA_WAIT_MIN_NS)
		return;
	wait.has_object = ada_cause_object(finding->thread, call->position, does, 0, &wait.object);
	/* Of a system call in C nothing else says that it waited. */
	if (does == ADA_DOES_FUTEX && !wait.has_object)
		return;
	if (does == ADA_DOES_ONCE && !waits_for_holder(finding, call, &wait))
		return;
	/* The lock of a stream is one only where somebody held it. */
	if (ada_does_to_stream(does)) {
		wait.has_object = waits_for_holder(finding, call, &wait);
		wait.kind = wait.has_object ? ADA_CAUSE_LOCK : kind;
	}
	wait.position = call->position;
	wait.end_position = call->end_position;
	wait.start_ns = call->start_ns;
	wait.end_ns = call->end_ns;
	wait.open = call->outcome == ADA_OUTCOME_OPEN;
	if (ada_array_push(&finding->waits->items, wait))
		finding->result = -ENOMEM;
}

static int find_waits(struct finding *finding)
{
	struct ada_stretch stretch = { .thread = finding->thread, .to = finding->thread->count };
	struct ada_calls calls;
	int result = 0;

	ada_calls_open(&calls, &(struct ada_calls_receiver){ .context = finding, .ended = on_ended });
	while (!result && ada_stretch_next(&stretch)) {
		for (uint64_t i = 0; i < stretch.count && !result; i++)
			result = ada_calls_feed(&calls, &stretch.events[i], stretch.position + i);
		if (!result)
			result = ada_interrupted() ? -EINTR : finding->result;
	}
	if (!result) {
		ada_calls_end(&calls, ada_process_end_ns(finding->thread->process));
		result = finding->result;
	}
	ada_calls_close(&calls);
	return result;
}

/* --- who ended them ------------------------------------------------------------------------------------------------------ */

struct end { /* an operation that can end a wait for this object */
	uint64_t object, ns, position;
	const struct ada_thread *thread;
	uint8_t does; /* as the waits have it that it ends */
};
struct ends {
	ADA_ARRAY(struct end) items;
	struct ada_table wanted; /* objects that somebody waited for */
};

/* Which waits an operation ends; of a wait for a condition, its second object is a mutex that it gives back. */
static enum ada_does ended_by(enum ada_does does, unsigned int which)
{
	switch (does) {
	case ADA_DOES_SIGNAL: return ADA_DOES_COND_WAIT;
	case ADA_DOES_SEM_POST: return ADA_DOES_SEM_WAIT;
	case ADA_DOES_UNLOCK: return ADA_DOES_LOCK;
	case ADA_DOES_BARRIER:
	case ADA_DOES_FUTEX: return does;
	case ADA_DOES_COND_WAIT: return which ? ADA_DOES_LOCK : ADA_DOES_NOTHING;
	default: return ADA_DOES_NOTHING;
	}
}

static int take_call(struct ada_cause_reader *reader, struct ends *ends, const struct ada_thread *thread, uint64_t position,
		     const struct ada_event *event)
{
	enum ada_does does = ada_cause_does(reader, thread->process, event->function_id);
	int result = 0;

	for (unsigned int which = 0; which < 2 && !result; which++) {
		enum ada_does ended = ended_by(does, which);
		uint64_t object, ignored;

		if (ended != ADA_DOES_NOTHING && ada_cause_object(thread, position, does, which, &object) &&
		    ada_table_get(&ends->wanted, object, &ignored))
			result = ada_array_push(&ends->items, ((struct end){ object, event->timestamp_ns, position, thread, ended }));
	}
	return result;
}

static int find_ends(struct ada_cause_reader *reader, struct ends *ends, const struct ada_process *process)
{
	int result = 0;

	for (size_t i = 0; i < process->thread_count && !result; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];
		struct ada_stretch stretch = { .thread = thread, .to = thread->events ? thread->count : 0 };

		while (!result && ada_stretch_next(&stretch)) {
			for (uint64_t j = 0; j < stretch.count && !result; j++)
				if (stretch.events[j].event_kind == ADA_EVENT_CALL)
					result = take_call(reader, ends, thread, stretch.position + j, &stretch.events[j]);
			if (!result && ada_interrupted())
				result = -EINTR;
		}
	}
	return result;
}

static int compare_ends(const void *left, const void *right)
{
	const struct end *a = left, *b = right;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->position < b->position ? -1 : a->position > b->position;
}

/* Whose end it waited for, and the last event of that one where it lies in the wait. */
static void settle_join(struct ada_wait *wait)
{
	const struct ada_thread *ended;

	if (wait->has_object)
		wait->joined = ada_cause_joined(wait->thread, wait->object, wait->start_ns, wait->end_ns);
	if (wait->open)
		return;
	ended = wait->joined ?:
			       ada_cause_ended(wait->thread, wait->start_ns, wait->end_ns, wait->has_object ? &wait->object : NULL,
					       ada_cause_has_object(wait->thread, wait->position));
	if (!ended)
		return;
	wait->joined = ended;
	if (!ada_cause_ended_meanwhile(ended, wait->start_ns, wait->end_ns))
		return;
	wait->ended_by = ended;
	wait->ended_by_position = ended->count - 1;
}

/* The last one by another thread while it waited. */
static void settle_end(struct ada_wait *wait, const struct ends *ends)
{
	enum ada_does does = wait->does == ADA_DOES_TRY_LOCK ? ADA_DOES_LOCK : wait->does;
	const struct end *items = ends->items.items;
	uint64_t behind;

	if (wait->does == ADA_DOES_JOIN)
		settle_join(wait);
	if (!wait->has_object || wait->open)
		return;
	behind = ada_first_not(i, 0, ends->items.count,
			       items[i].object < wait->object || (items[i].object == wait->object && items[i].ns <= wait->end_ns));
	while (behind-- > 0 && items[behind].object == wait->object && items[behind].ns >= wait->start_ns)
		if (items[behind].does == does && items[behind].thread != wait->thread &&
		    items[behind].thread->process == wait->thread->process) {
			wait->ended_by = items[behind].thread;
			wait->ended_by_position = items[behind].position;
			return;
		}
}

static int find_enders(struct ada_cause_reader *reader, struct ada_waits *waits)
{
	const struct ada_process *process = NULL;
	struct ends ends = {};
	int result = 0;

	for (size_t i = 0; i < waits->items.count && !result; i++)
		if (waits->items.items[i].has_object)
			result = ada_table_put(&ends.wanted, waits->items.items[i].object, 1);
	for (size_t i = 0; i < reader->session->processes.count && !result; i++) {
		bool wanted = false;

		process = reader->session->processes.items[i];
		for (size_t j = 0; j < waits->items.count && !wanted; j++)
			wanted = waits->items.items[j].has_object && waits->items.items[j].thread->process == process;
		if (wanted)
			result = find_ends(reader, &ends, process);
	}
	if (ends.items.count)
		qsort(ends.items.items, ends.items.count, sizeof *ends.items.items, compare_ends);
	for (size_t i = 0; i < waits->items.count && !result; i++)
		settle_end(&waits->items.items[i], &ends);
	ada_array_free(&ends.items);
	ada_table_free(&ends.wanted);
	return result;
}

int ada_waits_find(struct ada_cause_reader *reader, struct ada_thread *const *threads, size_t count, bool enders, struct ada_waits *waits)
{
	struct finding finding = { .reader = reader, .waits = waits };
	int result = 0;

	*waits = (struct ada_waits){};
	for (size_t i = 0; i < count && !result; i++) {
		finding.thread = threads[i];
		if (threads[i]->events)
			result = find_waits(&finding);
	}
	return !result && enders ? find_enders(reader, waits) : result;
}

void ada_waits_free(struct ada_waits *waits)
{
	ada_array_free(&waits->items);
}
