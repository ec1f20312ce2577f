/* When a thread had a CPU, for the exports that have tracks of states. */
#include "query/export/walk.h"
#include "query/export/parts.h"
#include "query/session/sched.h"

struct telling {
	void *context;
	int (*take)(void *context, const struct ada_export_cpu *stretch);
	uint64_t from_ns, to_ns; /* what is told lies between */
};

static int tell(const struct telling *telling, struct ada_export_cpu stretch)
{
	if (stretch.from_ns < telling->from_ns)
		stretch.from_ns = telling->from_ns;
	if (stretch.to_ns > telling->to_ns)
		stretch.to_ns = telling->to_ns;
	return stretch.from_ns < stretch.to_ns ? telling->take(telling->context, &stretch) : 0;
}

static enum ada_export_cpu_state state_of(const struct ada_off_cpu *spell)
{
	return spell->unknown ? ADA_EXPORT_CPU_UNKNOWN : spell->preempted ? ADA_EXPORT_CPU_PREEMPTED : ADA_EXPORT_CPU_OFF;
}

const char *ada_export_cpu_name(enum ada_export_cpu_state state)
{
	static const char *const names[] = { [ADA_EXPORT_CPU_RUNNING] = "running",
					     [ADA_EXPORT_CPU_OFF] = "off CPU",
					     [ADA_EXPORT_CPU_PREEMPTED] = "preempted",
					     [ADA_EXPORT_CPU_UNKNOWN] = "unknown" };

	return names[state];
}

int ada_export_cpu(const struct ada_selection *selection, const struct ada_thread *thread, void *context,
		   int (*take)(void *context, const struct ada_export_cpu *stretch))
{
	const struct ada_sched_thread *sched = ada_sched_of(thread);
	struct telling telling = { .context = context, .take = take };
	uint64_t running_ns;
	int result = 0;

	if (!sched || !thread->count)
		return 0;
	telling.from_ns = atf_thread_get(thread->events, 0)->timestamp_ns;
	telling.to_ns = ada_export_hangs(thread) ? ada_process_end_ns(thread->process) :
						   atf_thread_get(thread->events, thread->count - 1)->timestamp_ns;
	if (selection->from_ns > telling.from_ns)
		telling.from_ns = selection->from_ns;
	if (selection->to_ns < telling.to_ns)
		telling.to_ns = selection->to_ns;
	running_ns = sched->first_ns;
	for (size_t i = ada_sched_spell(sched, telling.from_ns); i <= sched->spells.count && !result; i++) {
		const struct ada_off_cpu *spell = i < sched->spells.count ? &sched->spells.items[i] : NULL;

		if (i && sched->spells.items[i - 1].to_ns > running_ns)
			running_ns = sched->spells.items[i - 1].to_ns;
		result = tell(&telling, (struct ada_export_cpu){ .state = ADA_EXPORT_CPU_RUNNING,
								 .from_ns = running_ns,
								 .to_ns = spell ? spell->from_ns : UINT64_MAX });
		if (!spell || spell->from_ns >= telling.to_ns)
			break;
		if (!result)
			result = tell(&telling,
				      (struct ada_export_cpu){ .state = state_of(spell),
							       .from_ns = spell->from_ns,
							       .to_ns = spell->to_ns,
							       .other_tid = spell->preempted && !spell->unknown ? spell->other_tid : 0 });
	}
	return result;
}
