/* What a thread did that its functions don't tell: it ran, met page faults, or was kept from running; by whom, where that is proven. */
#include <sys/param.h>
#include "query/cause/internal.h"
#include "query/session/sched.h"

#define FAULT_NS 4000 /* a page fault takes from 500 ns to 3 us, with its page's zeroes; who ran longer did something else */
#define FAULT_TIMES 2 /* or than it took twice where the recorder tried: then faults were less than half of it */

/* Ready to run, and without a CPU, for most of that time: by a limit of its group, else by others that nobody names. */
static bool settle_ready(const struct ada_sampled *sampled, struct ada_spent *most, uint64_t all_ns)
{
	if (sampled->ready_ns * 2 < all_ns)
		return false;
	most->kind = sampled->throttled_ns * 2 >= sampled->ready_ns ? ADA_CAUSE_THROTTLED : ADA_CAUSE_RUNQUEUE;
	most->ns = sampled->ready_ns;
	most->spells = 1;
	return true;
}

static void settle_faults(const struct ada_session *session, struct ada_spent *most, uint64_t faults, uint64_t ran_ns)
{
	most->kind = faults && ran_ns / faults <= MAX(FAULT_NS, FAULT_TIMES * session->page_fault_ns) ? ADA_CAUSE_FAULT : ADA_CAUSE_CPU;
	most->faults = faults;
	most->ran_ns = ran_ns;
}

/* Samples alone say what it did in a function that waits for nothing known. */
static void settle_by_samples(const struct ada_session *session, const struct ada_sampled *sampled, struct ada_spent *most, uint64_t all_ns,
			      uint64_t part_ns)
{
	if (sampled->stolen_ns * 2 >= part_ns)
		most->kind = ADA_CAUSE_STEAL;
	else if (sampled->ran_ns * 2 >= all_ns)
		settle_faults(session, most, sampled->minor + sampled->major, sampled->ran_ns);
}

static void settle_by_switches(const struct ada_session *session, const struct ada_sched_thread *sched, const struct ada_sampled *sampled,
			       struct ada_spent *most, uint64_t all_ns, uint64_t part_ns)
{
	uint64_t off_ns, faults = ada_sched_faults(sched, most->start_ns, most->end_ns);

	most->kind = ADA_CAUSE_CPU;
	most->faults = faults;
	if (sampled->stolen_ns * 2 >= part_ns)
		most->kind = ADA_CAUSE_STEAL;
	else if (ada_sched_off_ns(sched, most->start_ns, most->end_ns, &off_ns))
		settle_faults(session, most, faults, all_ns - off_ns);
}

enum ada_cause_kind ada_cause_lately(struct ada_cause_reader *reader, const struct ada_thread *thread, uint64_t from_ns, uint64_t to_ns)
{
	struct ada_spent most = { .kind = ADA_CAUSE_UNKNOWN };
	uint64_t all_ns = to_ns > from_ns ? to_ns - from_ns : 0;
	struct ada_sampled sampled;

	ada_cause_sampled(reader, thread, from_ns, to_ns, &sampled);
	if (all_ns && !settle_ready(&sampled, &most, all_ns))
		settle_by_samples(reader->session, &sampled, &most, all_ns, all_ns);
	return most.kind;
}

void ada_cause_settle(struct ada_cause_reader *reader, const struct ada_spending *spending, uint64_t last_ns,
		      const struct ada_sched_thread *sched, struct ada_spent *most)
{
	uint64_t all_ns = most->end_ns - most->start_ns;
	uint64_t part_ns = most->ns > all_ns ? most->ns : all_ns; /* what the longest spell is told for */
	struct ada_sampled sampled, whole;

	if (most->open || !all_ns || most->kind == ADA_CAUSE_RECORDER)
		return;
	ada_cause_sampled(reader, spending->thread, most->start_ns, most->end_ns, &sampled);
	ada_cause_sampled(reader, spending->thread, spending->from_ns, last_ns, &whole);
	if (most->kind == ADA_CAUSE_PREEMPTED) {
		if (!spending->preemptor && whole.throttled_ns * 2 >= most->ns)
			most->kind = ADA_CAUSE_THROTTLED;
	} else if (most->off) {
		/* Each such fault has it wait for the disk once. */
		if (whole.major * 2 >= most->spells) {
			most->kind = ADA_CAUSE_FAULT;
			most->faults = whole.major;
		}
	} else if (most->does == ADA_DOES_ALLOCATE || most->does == ADA_DOES_TRY_LOCK) {
		return; /* attempts run, too: what they wait for is the object */
	} else if (most->kind != ADA_CAUSE_UNKNOWN) {
		settle_ready(&sampled, most, part_ns);
	} else if (sched) {
		/* Each switch is known, and what it had no CPU for is a part of its own. */
		settle_by_switches(reader->session, sched, &sampled, most, all_ns, part_ns);
	} else if (!settle_ready(&whole, most, last_ns - spending->from_ns) && !settle_ready(&sampled, most, part_ns)) {
		/* Of many short calls each alone proves nothing: hence the whole first. */
		settle_by_samples(reader->session, &sampled, most, all_ns, part_ns);
	}
}
