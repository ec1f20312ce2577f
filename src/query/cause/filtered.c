/* Who held a mutex while calls of its functions may be missing (`ada trace --budget` filters them: abi/trampoline.h). Locks that found it
 * free are in no file then, nor are unlocks that nobody waited for. But while a thread waits for the mutex every unlock sees that somebody
 * does, so those are there, and say who had it until then: from the unlock before, or from when that thread is seen to take it. Who has it
 * at the beginning, or has not given it back, HOLDER events say, of this wait or of others.
 *
 * Attempts at what is seen so are no proof against a mutex that was given back unseen: what is later counts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "query/cause/internal.h"

struct seen { /* a thread had it at that time: it says so by giving it back, or by taking it, or another thread's mutex said so */
	const struct ada_thread *thread;
	uint64_t ns, position;
	bool gives;
	bool told; /* by another thread's mutex: it may have it for longer */
};
struct sight {
	struct ada_cause_reader *reader;
	const struct ada_question *question;
	struct ada_holds *holds;
	ADA_ARRAY(struct seen) seen;
	int result;
};

bool ada_cause_is_mutex(const struct ada_process *process, uint64_t function_id)
{
	char text[ADA_NAME_BUFFER];
	const char *name = ada_module_function(ada_process_module(process, function_id), function_id, text);

	return !strncmp(name, "pthread_mutex_", strlen("pthread_mutex_")) || !strncmp(name, "mtx_", strlen("mtx_"));
}

static void add_seen(struct sight *sight, struct seen seen)
{
	if (!sight->result)
		sight->result = ada_array_push(&sight->seen, seen);
}

/* The thread's last event up to that time; 0 where it had none yet. */
static uint64_t last_event(const struct ada_thread *thread, uint64_t ns)
{
	uint64_t behind = ns == UINT64_MAX ? thread->count : atf_thread_lower_bound(thread->events, ns + 1);

	return behind ? behind - 1 : 0;
}

/* What a mutex said behind the CALL at `position` of that thread. */
static void add_told(struct sight *sight, const struct ada_thread *thread, uint64_t position, uint64_t ns)
{
	const struct ada_process *process = sight->question->thread->process;
	const struct ada_thread *holder;
	uint32_t tid;

	if (!ada_cause_told_holder(thread, position, &tid))
		return;
	holder = ada_cause_thread_of(sight->reader, process, tid, ns);
	if (holder && holder != sight->question->thread)
		add_seen(sight, (struct seen){ holder, ns, last_event(holder, ns), .told = true });
}

static void add_operation(struct sight *sight, const struct ada_thread *thread, const struct ada_operation *operation)
{
	bool waits = operation->does == ADA_DOES_COND_WAIT && operation->as_mutex;
	uint64_t end, ns;

	if (operation->does == ADA_DOES_UNLOCK || waits)
		add_seen(sight, (struct seen){ thread, operation->ns, operation->position, .gives = true });
	if (operation->does == ADA_DOES_LOCK || ada_does_attempt(operation->does))
		add_told(sight, thread, operation->position, operation->ns);
	if (operation->does != ADA_DOES_LOCK && !waits)
		return;
	end = ada_cause_end(thread, operation->position, thread->count);
	ns = end == UINT64_MAX ? UINT64_MAX : atf_thread_get(thread->events, end)->timestamp_ns;
	if (ns <= sight->question->to_ns)
		add_seen(sight, (struct seen){ thread, ns, end, .gives = false });
}

static int compare_seen(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;

	return a->ns != b->ns ? (a->ns > b->ns) - (a->ns < b->ns) : a->gives - b->gives;
}

static void look_at_all(struct sight *sight)
{
	const struct ada_question *question = sight->question;
	const struct ada_process *process = question->thread->process;

	for (size_t i = 0; i < process->thread_count && !sight->result && !sight->holds->exhausted; i++) {
		const struct ada_thread *thread = &process->session->threads.items[process->first_thread + i];
		struct ada_back back = {
			.reader = sight->reader, .thread = thread, .object = question->object, .by_detail = question->by_detail
		};
		struct ada_operation operation;

		if (thread == question->thread || !ada_cause_lived(sight->reader, thread, question->from_ns, question->to_ns))
			continue;
		back.at = atf_thread_lower_bound(thread->events, question->to_ns);
		while (ada_back_next(&back, question->from_ns, &operation))
			add_operation(sight, thread, &operation);
		sight->holds->exhausted |= back.exhausted;
	}
	if (sight->seen.count)
		qsort(sight->seen.items, sight->seen.count, sizeof *sight->seen.items, compare_seen);
}

static void add_hold(struct sight *sight, const struct seen *seen, uint64_t start_ns, bool partly, uint64_t end_ns, uint64_t last)
{
	struct ada_hold hold = { .thread = seen->thread,
				 .start_ns = start_ns,
				 .end_ns = end_ns,
				 .first = last_event(seen->thread, start_ns),
				 .last = last,
				 .overlap_ns = end_ns - start_ns,
				 .partly = partly || start_ns == sight->question->from_ns,
				 .filtered = true };

	ada_cause_add_hold(sight->holds, &hold);
}

static void count_threads(struct sight *sight)
{
	for (size_t i = 0; i < sight->seen.count; i++) {
		size_t k = 0;

		while (k < i && sight->seen.items[k].thread != sight->seen.items[i].thread)
			k++;
		sight->holds->threads += k == i;
	}
}

/* Who gave it back had it since it was last given back, or since it was last seen to take it behind that. */
static void add_holds(struct sight *sight)
{
	const struct ada_question *question = sight->question;
	const struct seen *has = NULL; /* the last one seen to have it that has not given it back */
	uint64_t since_ns = question->from_ns;
	bool partly = false;

	for (size_t i = 0; i < sight->seen.count; i++) {
		const struct seen *seen = &sight->seen.items[i];

		if (!seen->gives) {
			partly = has && has->thread == seen->thread ? partly : seen->told;
			since_ns = has && has->thread == seen->thread ? since_ns : seen->ns;
			has = seen;
			continue;
		}
		if (has && has->thread != seen->thread)
			since_ns = has->ns;
		add_hold(sight, seen, since_ns, partly, seen->ns, seen->position);
		since_ns = seen->ns;
		partly = false;
		has = NULL;
	}
	if (has)
		add_hold(sight, has, since_ns, partly, question->to_ns,
			 question->open ? UINT64_MAX : last_event(has->thread, question->to_ns));
}

bool ada_cause_told_itself(const struct ada_question *question)
{
	uint32_t tid;

	return question->mutex && ada_cause_told_holder(question->thread, question->position, &tid) && tid == question->thread->tid;
}

void ada_cause_hold_itself(const struct ada_question *question, struct ada_holds *holds)
{
	struct ada_hold hold = { .thread = question->thread,
				 .start_ns = question->from_ns,
				 .end_ns = question->to_ns,
				 .first = question->position ? question->position - 1 : 0,
				 .last = UINT64_MAX,
				 .overlap_ns = question->to_ns - question->from_ns,
				 .partly = true,
				 .filtered = true };

	holds->threads = 1;
	ada_cause_add_hold(holds, &hold);
}

int ada_cause_holds_filtered(struct ada_cause_reader *reader, const struct ada_question *question, const struct ada_hold *before,
			     struct ada_holds *holds)
{
	struct sight sight = { .reader = reader, .question = question, .holds = holds };

	*holds = (struct ada_holds){};
	add_told(&sight, question->thread, question->position, question->from_ns);
	if (!sight.seen.count && before->thread)
		add_seen(&sight, (struct seen){ before->thread, question->from_ns, before->first, .gives = false });
	look_at_all(&sight);
	if (!sight.result) {
		add_holds(&sight);
		count_threads(&sight);
	}
	ada_array_free(&sight.seen);
	return sight.result;
}
