#include "recorder/sched/rest.h"

#define PART 0.5 /* of the budget, for the lane */
#define LOOK_NS 100000000ull
#define RAN_NS 50000000ull /* that a look is about, at least: the page faults of a program's start prove nothing */
#define PAUSE_NS 5000000000ull
#define PAUSE_MAX_NS 300000000000ull

void ada_sched_rest_note(struct ada_sched_rest *rest, size_t cpu, const AtfSchedEvent *event)
{
	uint64_t *on_ns = &rest->on_ns[cpu];

	rest->records++;
	switch (event->kind) {
	case ATF_SCHED_ON: *on_ns = event->timestamp_ns; break;
	case ATF_SCHED_OFF:
	case ATF_SCHED_PREEMPTED:
		if (*on_ns && event->timestamp_ns > *on_ns)
			rest->ran_ns += event->timestamp_ns - *on_ns;
		*on_ns = 0;
		break;
	case ATF_SCHED_LOST: *on_ns = 0; break;
	}
}

/* Threads that are on a CPU have run up to now. */
static void take_running(struct ada_sched_rest *rest, uint64_t now_ns)
{
	for (size_t i = 0; i < rest->cpus; i++)
		if (rest->on_ns[i] && now_ns > rest->on_ns[i]) {
			rest->ran_ns += now_ns - rest->on_ns[i];
			rest->on_ns[i] = now_ns;
		}
}

static void begin_look(struct ada_sched_rest *rest, uint64_t now_ns)
{
	rest->records = rest->ran_ns = 0;
	rest->look_ns = now_ns + LOOK_NS;
}

static bool change(struct ada_sched_rest *rest, bool rests, uint64_t now_ns)
{
	for (size_t i = 0; i < rest->cpus; i++)
		rest->on_ns[i] = 0;
	begin_look(rest, now_ns);
	rest->rests = rests;
	rest->since_ns = now_ns;
	return true;
}

static bool begin_rest(struct ada_sched_rest *rest, uint64_t now_ns)
{
	/* It was dear at once where it came back: it stays away for longer. */
	rest->pause_ns = rest->pause_ns && now_ns - rest->since_ns < PAUSE_NS ? rest->pause_ns * 2 : PAUSE_NS;
	rest->pause_ns = rest->pause_ns < PAUSE_MAX_NS ? rest->pause_ns : PAUSE_MAX_NS;
	rest->share = 0;
	change(rest, true, now_ns);
	rest->look_ns = now_ns + rest->pause_ns;
	return true;
}

void ada_sched_rest_again(struct ada_sched_rest *rest, uint64_t since_ns, uint64_t now_ns)
{
	begin_rest(rest, now_ns);
	rest->since_ns = since_ns;
}

bool ada_sched_rest_look(struct ada_sched_rest *rest, uint64_t now_ns)
{
	double cost_ns, own_ns;

	if (rest->budget <= 0 || now_ns < rest->look_ns)
		return false;
	if (rest->rests)
		return change(rest, false, now_ns);
	take_running(rest, now_ns);
	if (rest->ran_ns < RAN_NS)
		return false;
	cost_ns = (double)rest->records * ADA_SCHED_RECORD_NS;
	own_ns = (double)rest->ran_ns - cost_ns;
	rest->share = own_ns > cost_ns ? cost_ns / own_ns : 1;
	if (rest->share > PART * rest->budget)
		return begin_rest(rest, now_ns);
	begin_look(rest, now_ns);
	return false;
}
