/* Where a thread's time went: each call's own time, added up by what the call does and on which object. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/interrupt.h"
#include "query/cause/spent.h"
#include "query/session/mutes.h"
#include "query/session/stretch.h"

#define TRIES_MIN 3 /* so many attempts to take an object are a wait for it, also with sleeps between */

static struct ada_spent *part_of(struct ada_adding *adding, const struct ada_spent *like)
{
	uint64_t words[3] = { like->function_id, like->object, like->has_object | like->off << 1 | (uint64_t)like->kind << 8 }, number;

	if (adding->parts.count && !memcmp(words, adding->recent, sizeof words))
		return &adding->parts.items[adding->recent_number];
	/* What ran, and what goes to no object, counts by its function alone. */
	if (!ada_table_get(&adding->numbers, ada_hash_bytes(words, sizeof words), &number)) {
		number = adding->parts.count;
		if (ada_array_push(&adding->parts, *like) || ada_table_put(&adding->numbers, ada_hash_bytes(words, sizeof words), number)) {
			adding->result = -ENOMEM;
			return NULL;
		}
	}
	memcpy(adding->recent, words, sizeof words);
	adding->recent_number = number;
	return &adding->parts.items[number];
}

void ada_spent_add(struct ada_adding *adding, const struct ada_spent *like, const struct ada_call *call, uint64_t ns)
{
	struct ada_spent *part = ns ? part_of(adding, like) : NULL;

	if (!part)
		return;
	part->ns += ns;
	part->spells++;
	if (call->end_ns - call->start_ns <= part->end_ns - part->start_ns)
		return;
	part->position = call->position;
	part->start_ns = call->start_ns;
	part->end_ns = call->end_ns;
	part->open = call->outcome == ADA_OUTCOME_OPEN;
	part->returns = 0;
}

/* Whether the program has the thread in such a function only to wait, in which nothing but a signal handler calls anything. */
static bool blocks(enum ada_does does)
{
	return ada_does_wait(does) != ADA_CAUSE_UNKNOWN && does != ADA_DOES_ONCE && does != ADA_DOES_ALLOCATE;
}

/* What is tried in the midst of a wait, a signal handler tries: the wait goes on, whatever comes of it. */
static bool tries_in_wait(struct ada_adding *adding)
{
	size_t open = adding->calls.stack.count;
	uint64_t in = open ? adding->calls.stack.items[open - 1].position + 1 : 0;

	if (in == adding->tried_in)
		return adding->tried_in_wait;
	adding->tried_in = in;
	adding->tried_in_wait = false;
	while (open-- > 0 && !adding->tried_in_wait)
		adding->tried_in_wait = blocks(
			ada_cause_does(adding->reader, adding->spending->thread->process, adding->calls.stack.items[open].function_id));
	return adding->tried_in_wait;
}

/* What reads and writes is left out often, and seldom waits. A budget makes thousands of mutes, and attempts end as often: one look at all. */
static void find_muted_waits(struct ada_adding *adding)
{
	const struct ada_process *process = adding->spending->thread->process;
	struct ada_muted muted;

	adding->muted_known = true;
	for (size_t i = 0; ada_process_muted(process, i, &muted); i++) {
		enum ada_does does = ada_cause_does(adding->reader, process, muted.function_id);

		if (!muted.filtered && blocks(does) && ada_does_wait(does) != ADA_CAUSE_IO && ada_array_push(&adding->muted_waits, muted))
			adding->result = -ENOMEM;
	}
}

/* Whether waits are left out of the recording at that time: attempts may lie in the midst of one. */
static bool waits_muted(struct ada_adding *adding, const struct ada_tries *tries)
{
	if (!adding->muted_known)
		find_muted_waits(adding);
	for (size_t i = 0; i < adding->muted_waits.count; i++)
		if (adding->muted_waits.items[i].from_ns <= tries->end_ns && adding->muted_waits.items[i].to_ns >= tries->start_ns)
			return true;
	return false;
}

/* Many attempts one after another are one wait, with all that lies between them. */
static void count_tries(struct ada_adding *adding, const struct ada_tries *tries)
{
	struct ada_spent like = { .kind = ADA_CAUSE_LOCK,
				  .does = ADA_DOES_TRY_LOCK,
				  .function_id = tries->function_id,
				  .object = tries->object,
				  .has_object = true };
	struct ada_spent *part = tries->count >= TRIES_MIN && !waits_muted(adding, tries) ? part_of(adding, &like) : NULL;

	if (!part || part->ns >= tries->end_ns - tries->start_ns)
		return;
	*part = like;
	part->ns = tries->end_ns - tries->start_ns;
	part->spells = tries->count;
	part->position = tries->position;
	part->start_ns = tries->start_ns;
	part->end_ns = tries->end_ns;
}

/* Giving an object back ends the attempts at it: what follows is another wait. */
static void add_try(struct ada_adding *adding, const struct ada_call *call, const struct ada_spent *like)
{
	struct ada_tries *tries = NULL;

	for (size_t i = 0; i < adding->tries.count && !tries; i++)
		if (adding->tries.items[i].object == like->object)
			tries = &adding->tries.items[i];
	if (like->does == ADA_DOES_UNLOCK) {
		if (tries) {
			count_tries(adding, tries);
			*tries = adding->tries.items[--adding->tries.count];
		}
		return;
	}
	if (!tries) {
		if (ada_array_push(&adding->tries, (struct ada_tries){ .object = like->object })) {
			adding->result = -ENOMEM;
			return;
		}
		tries = &adding->tries.items[adding->tries.count - 1];
		tries->start_ns = call->start_ns;
		tries->position = call->position;
		tries->function_id = call->function_id;
	}
	tries->count++;
	tries->end_ns = call->end_ns;
}

/* A loop of waits is one wait: whoever woke the thread last, it went on. */
static void count_again(struct ada_adding *adding, const struct ada_again *again)
{
	struct ada_spent like = { .kind = ADA_CAUSE_CONDITION,
				  .does = ADA_DOES_COND_WAIT,
				  .function_id = again->function_id,
				  .object = again->object,
				  .has_object = true };
	struct ada_spent *part = again->count > 1 ? part_of(adding, &like) : NULL;

	if (!part || again->end_ns - again->start_ns <= part->end_ns - part->start_ns)
		return;
	part->position = again->position;
	part->start_ns = again->start_ns;
	part->end_ns = again->end_ns;
	part->open = again->open;
	part->returns = again->count - 1;
}

static void end_again(struct ada_adding *adding, uint64_t mutex)
{
	for (size_t i = adding->again.count; i-- > 0;)
		if (adding->again.items[i].mutex == mutex) {
			count_again(adding, &adding->again.items[i]);
			adding->again.items[i] = adding->again.items[--adding->again.count];
		}
}

static void add_again(struct ada_adding *adding, const struct ada_call *call, const struct ada_spent *like)
{
	struct ada_again *again = NULL, new = { .object = like->object, .start_ns = call->start_ns };

	if (!ada_cause_object(adding->spending->thread, call->position, like->does, 1, &new.mutex))
		return;
	for (size_t i = 0; i < adding->again.count && !again; i++)
		if (adding->again.items[i].object == like->object && adding->again.items[i].mutex == new.mutex)
			again = &adding->again.items[i];
	if (again && again->position > call->position) /* the library's function around that wait */
		return;
	if (!again && ada_array_push(&adding->again, new)) {
		adding->result = -ENOMEM;
		return;
	}
	again = again ? again : &adding->again.items[adding->again.count - 1];
	again->count++;
	again->function_id = call->function_id;
	again->position = call->position;
	again->end_ns = call->end_ns;
	again->open = call->outcome == ADA_OUTCOME_OPEN;
}

static void on_ended(void *context, const struct ada_call *call)
{
	struct ada_adding *adding = context;
	struct ada_spending *spending = adding->spending;
	struct ada_spent like = { .function_id = call->function_id, .object = 0 };
	uint64_t own_ns;

	if (spending->of_call && call->position == spending->first) {
		adding->done = true;
		spending->end_ns = call->end_ns;
		spending->open = call->outcome == ADA_OUTCOME_OPEN;
		spending->found = call->outcome != ADA_OUTCOME_UNKNOWN;
	}
	if (call->outcome == ADA_OUTCOME_UNKNOWN || (spending->of_call && call->position < spending->first))
		return;
	like.does = ada_cause_does(adding->reader, spending->thread->process, call->function_id);
	like.kind = ada_does_wait(like.does);
	/* The objects of descriptors and streams are told, but their time counts together: a slow disk is slow for many files. */
	if (like.does != ADA_DOES_NOTHING && !ada_does_to_descriptor(like.does) && !ada_does_to_stream(like.does))
		like.has_object = ada_cause_object(spending->thread, call->position, like.does, 0, &like.object);
	if (like.has_object && (like.does == ADA_DOES_UNLOCK || (ada_does_attempt(like.does) && !tries_in_wait(adding))))
		add_try(adding, call, &like);
	/* One attempt's time is its own, whoever had the object. */
	if (like.does == ADA_DOES_TRY) {
		like.has_object = false;
		like.object = 0;
	}
	if (like.has_object && like.does == ADA_DOES_UNLOCK)
		end_again(adding, like.object);
	if (like.has_object && like.does == ADA_DOES_COND_WAIT)
		add_again(adding, call, &like);
	own_ns = ada_call_self(call);
	ada_spent_add(adding, &like, call, own_ns > (uintptr_t)call->user ? own_ns - (uintptr_t)call->user : 0);
}

static int feed_events(struct ada_adding *adding)
{
	struct ada_stretch stretch = { .thread = adding->spending->thread, .next = adding->spending->first };
	int result = 0;

	stretch.to = stretch.thread->count;
	while (!adding->done && !result && ada_stretch_next(&stretch)) {
		if (ada_interrupted())
			return -EINTR;
		if (!ada_cause_pay(adding->reader, stretch.count)) {
			adding->spending->found = false;
			return 0;
		}
		for (uint64_t i = 0; i < stretch.count && !result && !adding->done; i++) {
			const struct ada_event *event = &stretch.events[i];

			if (event->timestamp_ns >= adding->to_ns) {
				adding->done = true;
				break;
			}
			ada_spent_take_switches(adding, event->timestamp_ns);
			if (event->event_kind == ADA_EVENT_RECORDER)
				adding->spending->recorder_ns += event->function_id;
			result = ada_calls_feed(&adding->calls, event, stretch.position + i);
			if (!result)
				result = adding->result;
		}
	}
	return result;
}

/* What is open at the beginning counts from there on. */
static int seed_open(struct ada_adding *adding)
{
	struct ada_stack stack;
	int result = ada_stack_at(&stack, adding->spending->thread, adding->spending->first);

	if (result)
		return result;
	for (size_t i = 0; i < stack.frames.count; i++)
		stack.frames.items[i].start_ns = adding->from_ns;
	result = ada_stack_seed(&stack, &adding->calls);
	adding->spending->found = true;
	ada_stack_close(&stack);
	return result;
}

/* What ran next to the largest part, in order. */
static void find_beside(struct ada_adding *adding, const struct ada_spent *most)
{
	struct ada_beside *beside = adding->spending->beside;

	for (size_t i = 0; i < adding->parts.count; i++) {
		const struct ada_spent *part = &adding->parts.items[i];
		size_t at = ADA_BESIDE;

		if (part == most || part->off || part->kind != ADA_CAUSE_UNKNOWN)
			continue;
		while (at && part->ns > beside[at - 1].ns) {
			if (at < ADA_BESIDE)
				beside[at] = beside[at - 1];
			at--;
		}
		if (at < ADA_BESIDE)
			beside[at] = (struct ada_beside){ part->function_id, part->ns, part->spells };
	}
}

/* The largest wait, or all that ran, where that is more: then its largest part. Attempts in a loop are a wait with all that lies between them,
 * also the time without a CPU, which is a part of its own, too: what takes half of the time is more than all that lies beside it. */
static void find_most(struct ada_adding *adding)
{
	struct ada_spent *wait = NULL, *ran = NULL, *half = NULL;
	uint64_t ran_ns = 0, most_ns, last_ns = adding->spending->of_call ? adding->spending->end_ns : adding->spending->to_ns;
	uint64_t all_ns = last_ns - adding->spending->from_ns;

	for (size_t i = 0; i < adding->parts.count; i++) {
		struct ada_spent *part = &adding->parts.items[i];
		bool waits = part->kind != ADA_CAUSE_UNKNOWN;
		struct ada_spent **best = waits ? &wait : &ran;

		if (!waits)
			ran_ns += part->ns;
		if (!waits && !part->off)
			adding->spending->ran_ns += part->ns;
		if (part->kind == ADA_CAUSE_PREEMPTED)
			adding->spending->preempted_ns += part->ns;
		if (adding->spending->of_running && (waits || part->off))
			continue;
		if (part->does == ADA_DOES_ALLOCATE)
			adding->spending->allocating_ns += part->ns;
		if (!*best || part->ns > (*best)->ns)
			*best = part;
		if (waits && !part->off && part->ns >= all_ns - all_ns / 2 && (!half || part->ns > half->ns))
			half = part;
	}
	if (half)
		adding->spending->most = *half;
	else if (wait && wait->ns >= (ran ? ran->ns : 0) && wait->ns >= ran_ns)
		adding->spending->most = *wait;
	else if (ran)
		adding->spending->most = *ran;
	else if (wait)
		adding->spending->most = *wait;
	if (adding->spending->of_running) {
		find_beside(adding, ran);
		adding->spending->found &= ran != NULL;
		return;
	}
	ada_spent_find_preemptor(adding, adding->spending);
	ada_cause_settle(adding->reader, adding->spending, last_ns, adding->sched, &adding->spending->most);
	most_ns = adding->spending->most.ns;
	/* An agent's number may say anything. */
	if (adding->spending->recorder_ns > all_ns)
		adding->spending->recorder_ns = all_ns;
	if (adding->spending->recorder_ns > most_ns && adding->parts.count) {
		adding->spending->most.kind = ADA_CAUSE_RECORDER;
		adding->spending->most.ns = adding->spending->recorder_ns;
	}
	adding->spending->found &= adding->parts.count > 0;
}

int ada_cause_spend(struct ada_cause_reader *reader, struct ada_spending *spending)
{
	struct ada_adding adding = { .reader = reader, .spending = spending, .from_ns = spending->from_ns };
	int result = 0;

	adding.to_ns = spending->of_call ? UINT64_MAX : spending->to_ns;
	ada_calls_open(&adding.calls, &(struct ada_calls_receiver){ .context = &adding, .ended = on_ended });
	ada_spent_begin_switches(&adding, spending->to_ns);
	if (!spending->of_call)
		result = seed_open(&adding);
	if (!result)
		result = feed_events(&adding);
	if (!result) {
		/* What is still open lasts until then. */
		if (!spending->of_call || !adding.done)
			ada_spent_take_switches(&adding, spending->to_ns);
		ada_calls_end(&adding.calls, !spending->of_call || !adding.done ? spending->to_ns : 0);
		for (size_t i = 0; i < adding.tries.count; i++)
			count_tries(&adding, &adding.tries.items[i]);
		for (size_t i = 0; i < adding.again.count; i++)
			count_again(&adding, &adding.again.items[i]);
		find_most(&adding);
		result = adding.result;
	}
	ada_calls_close(&adding.calls);
	ada_table_free(&adding.numbers);
	ada_array_free(&adding.parts);
	ada_array_free(&adding.tries);
	ada_array_free(&adding.muted_waits);
	ada_array_free(&adding.again);
	ada_array_free(&adding.preemptors);
	return result;
}
