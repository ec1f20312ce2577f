/* Which call a mark is about. */
#include <errno.h>
#include <string.h>
#include "base/interrupt.h"
#include "query/cause/internal.h"
#include "query/rust/rust.h"
#include "query/session/sched.h"
#include "query/session/windows.h"

#define HANG_NS 100000000      /* an open wait that is shorter is no hang */
#define ASKED_MAX 64	       /* threads that are looked at */
#define LOOK_NS 1000000000     /* a thread that ran for half of so long before the mark is busy, in a call that is older */
#define LOOK_EVENTS (1u << 20) /* of fewer, where so many lie in it */

/* How much a cause says of a hang; 0: nothing. */
static int weight(const struct ada_cause *cause)
{
	const struct ada_cause_link *link = cause->links.items;

	if (!cause->found || !link->wait_open || link->wait_end_ns - link->wait_start_ns < HANG_NS)
		return 0;
	if (cause->deadlock)
		return cause->cycle ? 4 : 5; /* rather of those that are in the cycle than of who waits for one of them */
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

/* --- who is busy --------------------------------------------------------------------------------------------------------- */

/* The innermost call that was open all the while, and has not returned since. False: there is none. */
static bool find_lasting(const struct ada_thread *thread, uint64_t at, uint64_t since_ns, struct ada_frame *lasting, int *result)
{
	struct ada_stack then, last;
	bool found = false;

	*result = ada_stack_at(&then, thread, at);
	if (*result)
		return false;
	*result = ada_stack_at(&last, thread, thread->count);
	for (size_t i = 0; !*result && i < then.frames.count && i < last.frames.count; i++)
		if (then.frames.items[i].start_ns <= since_ns && then.frames.items[i].position == last.frames.items[i].position) {
			*lasting = then.frames.items[i];
			found = true;
		}
	if (!*result)
		ada_stack_close(&last);
	ada_stack_close(&then);
	return found;
}

/* Whether switches, samples or its events say that the thread ran, rather than that nothing is known. */
static bool is_proven(struct ada_cause_reader *reader, const struct ada_spending *spending)
{
	uint64_t events = atf_thread_lower_bound(spending->thread->events, spending->to_ns) - spending->first, off_ns;
	struct ada_sampled sampled;

	if (events && (spending->to_ns - spending->from_ns) / events <= ADA_RAN_EVENT_NS)
		return true;
	if (ada_sched_off_ns(ada_sched_of(spending->thread), spending->from_ns, spending->to_ns, &off_ns))
		return true;
	ada_cause_sampled(reader, spending->thread, spending->from_ns, spending->to_ns, &sampled);
	return sampled.ran_ns * 2 >= spending->to_ns - spending->from_ns;
}

static int fill_busy(struct ada_cause_link *link, const struct ada_frame *lasting, const struct ada_spending *spending, bool proven)
{
	*link = (struct ada_cause_link){ .thread = spending->thread,
					 .position = lasting->position,
					 .function_id = lasting->function_id,
					 .start_ns = lasting->start_ns,
					 .end_ns = ada_process_end_ns(spending->thread->process),
					 .open = true,
					 .look_ns = spending->to_ns - spending->from_ns,
					 .kind = proven ? ADA_CAUSE_CPU : ADA_CAUSE_UNKNOWN,
					 .spent_ns = spending->most.ns,
					 .spells = spending->most.spells,
					 .wait_position = spending->most.position,
					 .wait_function_id = spending->most.function_id,
					 .wait_start_ns = spending->most.start_ns,
					 .wait_end_ns = spending->most.end_ns,
					 .wait_open = true };
	memcpy(link->beside, spending->beside, sizeof link->beside);
	return ada_cause_path_at(&link->path, link->thread, link->wait_position);
}

/* What one thread did in the time before. *ran_ns: how long it ran, or could have; 0: it isn't busy. */
static int ask_busy(struct ada_cause_reader *reader, const struct ada_thread *thread, uint64_t ns, bool need_proof, uint64_t *ran_ns,
		    struct ada_cause_link *link)
{
	struct ada_spending spending = { .thread = thread, .from_ns = ns > LOOK_NS ? ns - LOOK_NS : 0, .to_ns = ns, .of_running = true };
	uint64_t end = thread->events ? atf_thread_lower_bound(thread->events, ns) : 0;
	struct ada_frame lasting = {};
	uint64_t busy_ns;
	bool proven;
	int result;

	*ran_ns = 0;
	if (!end || !find_lasting(thread, end, spending.from_ns, &lasting, &result))
		return end ? result : 0;
	while (end - (spending.first = atf_thread_lower_bound(thread->events, spending.from_ns)) > LOOK_EVENTS)
		spending.from_ns += (spending.to_ns - spending.from_ns + 1) / 2;
	result = ada_cause_spend(reader, &spending);
	if (result || !spending.found || !spending.ran_ns)
		return result;
	busy_ns = spending.ran_ns + spending.preempted_ns; /* on a full machine it has the CPU for less than half */
	if (busy_ns * 2 < spending.to_ns - spending.from_ns)
		return 0;
	proven = is_proven(reader, &spending);
	if (need_proof && !proven)
		return 0;
	*ran_ns = busy_ns;
	return fill_busy(link, &lasting, &spending, proven);
}

/* The thread that ran for longest, or would have. */
static int find_busy(struct ada_cause_reader *reader, const struct ada_process *process, uint64_t ns, bool need_proof,
		     struct ada_cause *cause)
{
	uint64_t end_ns = ada_process_end_ns(process), ran_ns, most_ns = 0;
	struct ada_cause_link link, best = {};
	int result = 0;

	for (size_t i = 0; i < process->thread_count && i < ASKED_MAX && !result; i++) {
		if (ada_interrupted())
			result = -EINTR;
		reader->budget = ADA_CAUSE_BUDGET;
		if (!result)
			result = ask_busy(reader, &reader->session->threads.items[process->first_thread + i], ns < end_ns ? ns : end_ns,
					  need_proof, &ran_ns, &link);
		if (result || ran_ns <= most_ns) {
			if (!result && ran_ns)
				ada_stack_close(&link.path);
			continue;
		}
		ada_stack_close(&best.path);
		best = link;
		most_ns = ran_ns;
	}
	if (!result && most_ns) {
		ada_array_free(&cause->links);
		*cause = (struct ada_cause){ .reader = reader, .found = true };
		result = ada_array_push(&cause->links, best);
	}
	if (result || !most_ns)
		ada_stack_close(&best.path);
	cause->found &= !result;
	return result;
}

/* --- who waits for somebody ---------------------------------------------------------------------------------------------- */

/* The only thread that has waited so long for whom its descriptor connects it with. Of several nobody knows which one is meant. */
static int find_talk(struct ada_cause_reader *reader, const struct ada_process *process, uint64_t ns, struct ada_cause *cause)
{
	const struct ada_thread *found = NULL;
	uint64_t at = 0, position;
	int result = 0;

	if (process->thread_count > ASKED_MAX)
		return 0;
	for (size_t i = 0; i < process->thread_count && !result; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];
		struct ada_cause_link link;
		bool talks;

		if (ada_interrupted())
			return -EINTR;
		reader->budget = ADA_CAUSE_BUDGET;
		if (!find_open(thread, ns, &position, &result))
			continue;
		talks = ada_cause_waits_on(reader, thread, position, ns, &link) && link.connected && ns - link.wait_start_ns >= LOOK_NS;
		ada_cause_link_free(&link);
		if (talks && found)
			return 0;
		if (!talks)
			continue;
		found = thread;
		at = position;
	}
	reader->budget = ADA_CAUSE_BUDGET;
	return result || !found ? result : ada_cause_find(reader, found, at, cause);
}

int ada_cause_of_hang(struct ada_cause_reader *reader, const struct ada_process *process, struct ada_cause *cause)
{
	int result;

	*cause = (struct ada_cause){ .reader = reader };
	result = find_hang(reader, process, UINT64_MAX - 1, cause);
	return result || cause->found ? result : find_busy(reader, process, UINT64_MAX - 1, true, cause);
}

/* Of a mark's kind: what was busy until then is no hang. */
static bool is_end(const char *kind)
{
	return !strcmp(kind, "crash") || !strncmp(kind, "exit", strlen("exit"));
}

int ada_cause_of_mark(struct ada_cause_reader *reader, const struct ada_process *process, const json_object *mark, struct ada_cause *cause)
{
	const struct ada_thread *thread;
	uint64_t position, ns;
	struct ada_mark_span span;
	int result;

	*cause = (struct ada_cause){ .reader = reader };
	if (ada_mark_span(process, mark, &span))
		return ada_mark_event(process, mark, &thread, &position) ? ada_cause_since(reader, thread, position, span.begin_ns, cause) :
									   0;
	if (ada_rust_panic_of_mark(process, mark, &thread, &position))
		return 0; /* what a panic does takes long where it writes a backtrace, which is no cause of anything */
	/* What a rule says of an event names its function. */
	if (ada_mark_event(process, mark, &thread, &position) && json_object_is_type(ada_json_get(mark, "functionId"), json_type_int))
		return ada_cause_find(reader, thread, position, cause);
	ns = ada_json_u64(mark, "tsNs", UINT64_MAX - 1);
	result = find_hang(reader, process, ns, cause);
	if (result || cause->found || is_end(ada_json_text(mark, "kind", "")))
		return result;
	result = find_busy(reader, process, ns, false, cause);
	if (result || cause->found || strcmp(ada_json_text(mark, "kind", ""), "manual"))
		return result;
	return find_talk(reader, process, ns, cause);
}
