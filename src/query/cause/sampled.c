/* What samples.atf proves of a stretch of a thread's time. A sample that reaches beyond the stretch counts by what must lie inside. */
#include "atf/sched/sched_list.h"
#include "query/cause/internal.h"
#include "query/session/sched.h"

#define REACH_NS 10000000000ull /* so far behind the stretch samples may lie that reach into it */
#define CPUS_MAX 1024

static const struct atf_sched_list *samples_of(struct ada_cause_reader *reader)
{
	struct atf_message message;

	if (!reader->asked_samples)
		ada_sched_lane(&reader->samples, reader->session, "samples", &message);
	reader->asked_samples = true;
	return reader->samples;
}

/* Of `count` in the time that the sample is of, what lies between the two times for sure. */
static uint64_t inside(const AtfSchedEvent *sample, uint64_t from_ns, uint64_t to_ns)
{
	/* The kernel counts a wait for a CPU when it is over: it may have begun long before the look before. */
	uint64_t reach_ns = sample->other_id * 1000ull + (sample->kind == ATF_SCHED_READY ? sample->count : 0);
	uint64_t end_ns = sample->timestamp_ns, start_ns = end_ns > reach_ns ? end_ns - reach_ns : 0;
	uint64_t outside_ns = (start_ns < from_ns ? from_ns - start_ns : 0) + (end_ns > to_ns ? end_ns - to_ns : 0);

	if (end_ns <= from_ns || start_ns >= to_ns)
		return 0;
	if (sample->kind == ATF_SCHED_MINOR || sample->kind == ATF_SCHED_MAJOR)
		return outside_ns ? 0 : sample->count;
	return sample->count > outside_ns ? sample->count - outside_ns : 0;
}

static void take_sample(struct ada_sampled *sampled, const AtfSchedEvent *sample, uint64_t from_ns, uint64_t to_ns, bool *cpus)
{
	uint64_t count = inside(sample, from_ns, to_ns);

	switch (sample->kind) {
	case ATF_SCHED_RAN:
		sampled->ran_ns += count;
		if (count && sample->cpu < CPUS_MAX)
			cpus[sample->cpu] = true;
		break;
	case ATF_SCHED_READY: sampled->ready_ns += count; break;
	case ATF_SCHED_MINOR: sampled->minor += count; break;
	case ATF_SCHED_MAJOR: sampled->major += count; break;
	default: break;
	}
}

void ada_cause_sampled(struct ada_cause_reader *reader, const struct ada_thread *thread, uint64_t from_ns, uint64_t to_ns,
		       struct ada_sampled *sampled)
{
	const struct atf_sched_list *samples = samples_of(reader);
	uint64_t count = atf_sched_list_count(samples), first, last;
	bool cpus[CPUS_MAX] = { false };

	*sampled = (struct ada_sampled){ .ran_ns = 0 };
	first = ada_first_not(i, 0, count, atf_sched_list_at(samples, i)->timestamp_ns <= from_ns);
	last = ada_first_not(i, first, count, atf_sched_list_at(samples, i)->timestamp_ns < to_ns + REACH_NS);
	for (uint64_t i = first; i < last; i++)
		if (atf_sched_list_at(samples, i)->thread_id == thread->tid)
			take_sample(sampled, atf_sched_list_at(samples, i), from_ns, to_ns, cpus);
	for (uint64_t i = first; i < last; i++) {
		const AtfSchedEvent *sample = atf_sched_list_at(samples, i);

		if (sample->kind == ATF_SCHED_THROTTLED)
			sampled->throttled_ns += inside(sample, from_ns, to_ns);
		else if (sample->kind == ATF_SCHED_STOLEN && sample->cpu < CPUS_MAX && cpus[sample->cpu])
			sampled->stolen_ns += inside(sample, from_ns, to_ns);
	}
}
