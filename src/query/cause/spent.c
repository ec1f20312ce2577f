/* Where a thread's time went: each call's own time, added up by what the call does and on which object. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/interrupt.h"
#include "query/cause/internal.h"
#include "query/session/sched.h"
#include "query/session/stretch.h"

#define TRIES_MIN 3 /* so many attempts to take an object are a wait for it, also with sleeps between */

struct tries { /* attempts at an object that was not given back since */
	uint64_t object, function_id;
	uint64_t count, start_ns, end_ns, position;
};
struct again { /* waits for a condition, in none of which it came true but perhaps in the last: the mutex was not given back between */
	uint64_t object, mutex, function_id;
	uint64_t count, start_ns, end_ns, position;
	bool open;
};
struct preemptor {
	uint32_t tid;
	uint64_t ns;
};
struct adding {
	struct ada_cause_reader *reader;
	struct ada_spending *spending;
	struct ada_calls calls;
	struct ada_table numbers; /* of the parts, by what they are */
	ADA_ARRAY(struct ada_spent) parts;
	uint64_t recent[3], recent_number; /* the part that was asked for last: a loop asks for the same one again and again */
	ADA_ARRAY(struct tries) tries;
	ADA_ARRAY(struct again) again;
	const struct ada_sched_thread *sched; /* NULL: nothing is known of when the thread ran */
	size_t spell;			      /* of it: the first that isn't told whole */
	uint64_t switched_ns;		      /* up to which they are told */
	ADA_ARRAY(struct preemptor) preemptors;
	uint64_t rivals_ns; /* of the piece of a spell that is being told: what threads of the session had */
	uint64_t from_ns, to_ns;
	bool done; /* the call has ended */
	int result;
};

static struct ada_spent *part_of(struct adding *adding, const struct ada_spent *like)
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

static void add_part(struct adding *adding, const struct ada_spent *like, const struct ada_call *call, uint64_t ns)
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

/* Many attempts one after another are one wait, with all that lies between them. */
static void count_tries(struct adding *adding, const struct tries *tries)
{
	struct ada_spent like = { .kind = ADA_CAUSE_LOCK,
				  .does = ADA_DOES_TRY_LOCK,
				  .function_id = tries->function_id,
				  .object = tries->object,
				  .has_object = true };
	struct ada_spent *part = tries->count >= TRIES_MIN ? part_of(adding, &like) : NULL;

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
static void add_try(struct adding *adding, const struct ada_call *call, const struct ada_spent *like)
{
	struct tries *tries = NULL;

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
		if (ada_array_push(&adding->tries, (struct tries){ .object = like->object })) {
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
static void count_again(struct adding *adding, const struct again *again)
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

static void end_again(struct adding *adding, uint64_t mutex)
{
	for (size_t i = adding->again.count; i-- > 0;)
		if (adding->again.items[i].mutex == mutex) {
			count_again(adding, &adding->again.items[i]);
			adding->again.items[i] = adding->again.items[--adding->again.count];
		}
}

static void add_again(struct adding *adding, const struct ada_call *call, const struct ada_spent *like)
{
	struct again *again = NULL, new = { .object = like->object, .start_ns = call->start_ns };

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

/* --- what the scheduler says --------------------------------------------------------------------------------------------- */

static void add_preemptor(struct adding *adding, uint32_t tid, uint64_t ns)
{
	struct preemptor *found = NULL;

	for (size_t i = 0; i < adding->preemptors.count && !found; i++)
		if (adding->preemptors.items[i].tid == tid)
			found = &adding->preemptors.items[i];
	if (!found && ada_array_push(&adding->preemptors, (struct preemptor){ .tid = tid })) {
		adding->result = -ENOMEM;
		return;
	}
	found = found ? found : &adding->preemptors.items[adding->preemptors.count - 1];
	found->ns += ns;
}

/* Of those of the session each has what it had, and the rest, of nobody in particular, counts under 0. */
static void add_rival(void *context, uint32_t tid, uint64_t ns)
{
	struct adding *adding = context;

	adding->rivals_ns += ns;
	add_preemptor(adding, tid, ns);
}

static void add_rivals(struct adding *adding, const struct ada_off_cpu *spell, uint64_t from_ns, uint64_t to_ns)
{
	const struct ada_thread *thread = adding->spending->thread;

	adding->rivals_ns = 0;
	ada_sched_rivals(thread->process->session, spell, thread->tid, from_ns, to_ns, add_rival, adding);
	if (to_ns - from_ns > adding->rivals_ns)
		add_preemptor(adding, 0, to_ns - from_ns - adding->rivals_ns);
}

/* The thread of the session that had the CPU for longest, where such threads had it for half of the time at least. */
static void find_preemptor(const struct adding *adding, struct ada_spending *spending)
{
	uint64_t known_ns = 0, other_ns = 0;
	const struct preemptor *most = NULL;

	for (size_t i = 0; i < adding->preemptors.count; i++) {
		const struct preemptor *one = &adding->preemptors.items[i];

		*(one->tid ? &known_ns : &other_ns) += one->ns;
		spending->rivals += one->tid != 0;
		if (one->tid && (!most || one->ns > most->ns))
			most = one;
	}
	if (!most || known_ns < other_ns)
		return;
	spending->preemptor = most->tid;
	spending->preemptor_ns = most->ns;
}

/* The innermost open call has that much less for itself. A wait that is known by its function is a wait, on the CPU and off it. */
static void add_off(struct adding *adding, const struct ada_off_cpu *spell, uint64_t from_ns, uint64_t to_ns)
{
	struct ada_call *top = &adding->calls.stack.items[adding->calls.stack.count - 1];
	struct ada_call piece = { .start_ns = from_ns, .end_ns = to_ns, .position = top->position };
	struct ada_spent like = { .function_id = top->function_id, .kind = spell->preempted ? ADA_CAUSE_PREEMPTED : ADA_CAUSE_UNKNOWN };

	if (adding->spending->of_call && top->position < adding->spending->first)
		return;
	like.does = ada_cause_does(adding->reader, adding->spending->thread->process, top->function_id);
	if (like.does == ADA_DOES_ALLOCATE && !spell->preempted && from_ns < to_ns)
		adding->spending->allocating_off_ns += to_ns - from_ns;
	if (like.does == ADA_DOES_ALLOCATE && spell->preempted && from_ns < to_ns) {
		adding->spending->allocating_ready_ns += to_ns - from_ns;
		add_rivals(adding, spell, from_ns, to_ns);
	}
	if (ada_does_wait(like.does) != ADA_CAUSE_UNKNOWN || from_ns >= to_ns)
		return;
	like.off = true;
	add_part(adding, &like, &piece, to_ns - from_ns);
	top->user = (void *)((uintptr_t)top->user + (to_ns - from_ns));
	if (spell->preempted)
		add_rivals(adding, spell, from_ns, to_ns);
}

/* Tells the spells, and parts of them, up to that time: no event lies in them, so the calls open now are those open then. */
static void take_switches(struct adding *adding, uint64_t to_ns)
{
	const struct ada_sched_thread *sched = adding->sched;

	while (sched && adding->spell < sched->spells.count && sched->spells.items[adding->spell].from_ns < to_ns) {
		const struct ada_off_cpu *spell = &sched->spells.items[adding->spell];
		uint64_t from_ns = spell->from_ns > adding->switched_ns ? spell->from_ns : adding->switched_ns;

		if (adding->calls.stack.count)
			add_off(adding, spell, from_ns, spell->to_ns < to_ns ? spell->to_ns : to_ns);
		if (spell->to_ns > to_ns)
			break;
		adding->spell++;
	}
	adding->switched_ns = to_ns;
}

/* Nothing is known of a time in which records are missing, or that begins before the first. */
static void begin_switches(struct adding *adding, uint64_t to_ns)
{
	const struct ada_sched_thread *sched = ada_sched_of(adding->spending->thread);
	uint64_t ignored;

	if (!ada_sched_off_ns(sched, adding->from_ns, to_ns, &ignored))
		return;
	adding->sched = sched;
	adding->switched_ns = adding->from_ns;
	adding->spell = ada_sched_spell(sched, adding->from_ns);
}

/* --- calls ---------------------------------------------------------------------------------------------------------------- */

static void on_ended(void *context, const struct ada_call *call)
{
	struct adding *adding = context;
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
	if (like.has_object && (like.does == ADA_DOES_TRY_LOCK || like.does == ADA_DOES_UNLOCK))
		add_try(adding, call, &like);
	if (like.has_object && like.does == ADA_DOES_UNLOCK)
		end_again(adding, like.object);
	if (like.has_object && like.does == ADA_DOES_COND_WAIT)
		add_again(adding, call, &like);
	own_ns = ada_call_self(call);
	add_part(adding, &like, call, own_ns > (uintptr_t)call->user ? own_ns - (uintptr_t)call->user : 0);
}

static int feed_events(struct adding *adding)
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
			take_switches(adding, event->timestamp_ns);
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
static int seed_open(struct adding *adding)
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
static void find_beside(struct adding *adding, const struct ada_spent *most)
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
static void find_most(struct adding *adding)
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
	find_preemptor(adding, adding->spending);
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
	struct adding adding = { .reader = reader, .spending = spending, .from_ns = spending->from_ns };
	int result = 0;

	adding.to_ns = spending->of_call ? UINT64_MAX : spending->to_ns;
	ada_calls_open(&adding.calls, &(struct ada_calls_receiver){ .context = &adding, .ended = on_ended });
	begin_switches(&adding, spending->to_ns);
	if (!spending->of_call)
		result = seed_open(&adding);
	if (!result)
		result = feed_events(&adding);
	if (!result) {
		/* What is still open lasts until then. */
		if (!spending->of_call || !adding.done)
			take_switches(&adding, spending->to_ns);
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
	ada_array_free(&adding.again);
	ada_array_free(&adding.preemptors);
	return result;
}
