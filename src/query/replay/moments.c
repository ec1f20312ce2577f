/* Rules that name no event: how a process ended, and the time of day. From session.json and the manifests. */
#include <string.h>
#include <time.h>
#include "query/replay/internal.h"

#define SECOND_NS 1000000000ull

static uint64_t end_of(const struct ada_process *process)
{
	uint64_t end = ada_json_u64(process->manifest, "endNs", 0);

	for (size_t i = 0; !end && i < process->thread_count; i++) {
		const struct ada_thread *thread = &process->session->threads.items[process->first_thread + i];
		uint64_t last = thread->count ? atf_thread_get(thread->events, thread->count - 1)->timestamp_ns : 0;

		end = last > end ? last : end;
	}
	return end;
}

static const struct ada_thread *thread_of(const struct ada_process *process, uint64_t tid)
{
	for (size_t i = 0; i < process->thread_count; i++)
		if (process->session->threads.items[process->first_thread + i].tid == tid)
			return &process->session->threads.items[process->first_thread + i];
	return NULL;
}

/* A fatal signal: the crash record where the agent wrote one, else how the process ended. */
static void find_end(const struct ada_trigger *trigger, const struct ada_process *process, ada_replay_moment *fits, void *context)
{
	const json_object *exit = ada_json_get(process->manifest, "exit"), *crash = ada_json_get(process->manifest, "crash");
	const char *kind = ada_json_text(exit, "kind", "");
	bool killed = !strcmp(kind, "signal"), failed = !strcmp(kind, "exited") && ada_json_u64(exit, "status", 0);
	struct ada_replay_hit hit = { .ns = end_of(process), .process = process, .index_seq = UINT64_MAX, .kind = ADA_REPLAY_NUMBER };

	hit.value.u = ada_json_u64(exit, killed ? "signal" : "status", 0);
	if (trigger->kind == ADA_RULE_EXIT) {
		hit.value.u += killed ? 128 : 0;
		if (killed || failed)
			fits(context, &hit);
		return;
	}
	if (crash) {
		hit.ns = ada_json_u64(crash, "timestampNs", hit.ns);
		hit.value.u = ada_json_u64(crash, "signal", 0);
		hit.thread = thread_of(process, ada_json_u64(crash, "tid", 0));
	}
	if (!crash && (!killed || (trigger->kind == ADA_RULE_CRASH && !ada_signals_have(ADA_CRASH_SIGNALS, hit.value.u))))
		return;
	if (trigger->kind == ADA_RULE_CRASH || ada_signals_have(trigger->signals, hit.value.u))
		fits(context, &hit);
}

/* Minute by minute through the recording: marks where the interval begins, or the recording within it. */
static void find_time(const struct ada_replay *replay, const struct ada_process *process, ada_replay_moment *fits, void *context)
{
	const struct ada_session *session = process->session;
	uint64_t start = ada_json_u64(process->manifest, "startNs", session->start_ns), end = end_of(process);
	struct ada_replay_hit hit = { .process = process, .index_seq = UINT64_MAX };
	bool was_inside = false;
	int64_t offset;

	if (!ada_session_wall_offset(session, &offset))
		return;
	for (uint64_t ns = start; ns <= end;) {
		uint64_t wall_ns = ns + (uint64_t)offset;
		time_t now = (time_t)(wall_ns / SECOND_NS);
		struct tm local;
		bool is_inside;

		localtime_r(&now, &local);
		is_inside = ada_trigger_left_ns(replay->trigger, wall_ns) != 0;
		if (is_inside && !was_inside) {
			hit.ns = ns;
			fits(context, &hit);
		}
		was_inside = is_inside;
		ns += (uint64_t)(60 - local.tm_sec % 60) * SECOND_NS - wall_ns % SECOND_NS;
	}
}

void ada_replay_moments(const struct ada_replay *replay, ada_replay_moment *fits, void *context)
{
	const struct ada_session *session = replay->selection->session;

	for (size_t i = 0; i < session->processes.count; i++) {
		if (replay->trigger->kind == ADA_RULE_TIME)
			find_time(replay, session->processes.items[i], fits, context);
		else
			find_end(replay->trigger, session->processes.items[i], fits, context);
	}
}
