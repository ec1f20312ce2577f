/* The time that a thread was off its CPU, as the scheduler tells it: parts of the calls that were open then, and who had the CPU meanwhile. */
#include <errno.h>
#include "query/cause/spent.h"
#include "query/session/sched.h"

static void add_preemptor(struct ada_adding *adding, uint32_t tid, uint64_t ns)
{
	struct ada_preemptor *found = NULL;

	for (size_t i = 0; i < adding->preemptors.count && !found; i++)
		if (adding->preemptors.items[i].tid == tid)
			found = &adding->preemptors.items[i];
	if (!found && ada_array_push(&adding->preemptors, (struct ada_preemptor){ .tid = tid })) {
		adding->result = -ENOMEM;
		return;
	}
	found = found ? found : &adding->preemptors.items[adding->preemptors.count - 1];
	found->ns += ns;
}

/* Of those of the session each has what it had, and the rest, of nobody in particular, counts under 0. */
static void add_rival(void *context, uint32_t tid, uint64_t ns)
{
	struct ada_adding *adding = context;

	adding->rivals_ns += ns;
	add_preemptor(adding, tid, ns);
}

static void add_rivals(struct ada_adding *adding, const struct ada_off_cpu *spell, uint64_t from_ns, uint64_t to_ns)
{
	const struct ada_thread *thread = adding->spending->thread;

	adding->rivals_ns = 0;
	ada_sched_rivals(thread->process->session, spell, thread->tid, from_ns, to_ns, add_rival, adding);
	if (to_ns - from_ns > adding->rivals_ns)
		add_preemptor(adding, 0, to_ns - from_ns - adding->rivals_ns);
}

void ada_spent_find_preemptor(const struct ada_adding *adding, struct ada_spending *spending)
{
	uint64_t known_ns = 0, other_ns = 0;
	const struct ada_preemptor *most = NULL;

	for (size_t i = 0; i < adding->preemptors.count; i++) {
		const struct ada_preemptor *one = &adding->preemptors.items[i];

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
static void add_off(struct ada_adding *adding, const struct ada_off_cpu *spell, uint64_t from_ns, uint64_t to_ns)
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
	ada_spent_add(adding, &like, &piece, to_ns - from_ns);
	top->user = (void *)((uintptr_t)top->user + (to_ns - from_ns));
	if (spell->preempted)
		add_rivals(adding, spell, from_ns, to_ns);
}

void ada_spent_take_switches(struct ada_adding *adding, uint64_t to_ns)
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

/* A call that is over before records are missing. */
static bool ends_before_gap(struct ada_adding *adding, const struct ada_sched_thread *sched)
{
	const struct ada_spending *spending = adding->spending;
	uint64_t until_ns, end;

	if (!spending->of_call || !ada_sched_known(sched, adding->from_ns, &until_ns))
		return false;
	end = atf_thread_lower_bound(spending->thread->events, until_ns == UINT64_MAX ? until_ns : until_ns + 1);
	return end > spending->first && ada_cause_pay(adding->reader, end - spending->first) &&
	       ada_cause_end(spending->thread, spending->first, end) != UINT64_MAX;
}

void ada_spent_begin_switches(struct ada_adding *adding, uint64_t to_ns)
{
	const struct ada_sched_thread *sched = ada_sched_of(adding->spending->thread);
	uint64_t ignored;

	if (!ada_sched_off_ns(sched, adding->from_ns, to_ns, &ignored) && !ends_before_gap(adding, sched))
		return;
	adding->sched = sched;
	adding->switched_ns = adding->from_ns;
	adding->spell = ada_sched_spell(sched, adding->from_ns);
}
