#include "query/replay/replay.h"
#include <errno.h>
#include <stdlib.h>
#include "query/replay/internal.h"

struct run {
	struct ada_replay *replay;
	struct ada_rule rule;		      /* in ns for ticks */
	struct ada_replay_process *processes; /* by place in the session */
	struct ada_replay_track *tracks;      /* by place in the session */
	struct ada_table named;		      /* by function key: enum ada_trigger_side */
	int result;
};

/* enum ada_trigger_side: 0 where the rule doesn't name it. */
static unsigned names_function(struct run *run, const struct ada_process *process, uint64_t function_id)
{
	const struct ada_trigger *trigger = run->replay->trigger;
	uint64_t key = ada_process_function_key(process, function_id), known = 0;
	struct ada_module *module;
	char place[ADA_PLACE_TEXT];
	struct ada_names names;

	if (!trigger->patterns.count)
		return 0;
	if (ada_table_get(&run->named, key, &known))
		return (unsigned)known;
	module = ada_process_module(process, function_id);
	if (module) {
		ada_module_names(&names, module, function_id, place);
		known = ada_trigger_sides(trigger, &names);
		ada_names_close(&names);
	}
	if (ada_table_put(&run->named, key, known))
		run->result = -ENOMEM;
	return (unsigned)known;
}

static bool samples(const struct ada_rule *rule)
{
	return rule->kind == ADA_RULE_PERCENTILE || rule->kind == ADA_RULE_RATE || rule->kind == ADA_RULE_NEW_CALLER;
}

/* It fits: whether it marks is up to what the rule remembers. */
static void mark_take(struct run *run, struct ada_replay_process *process, const struct ada_rule *rule, const struct ada_rule_event *seen,
		      const struct ada_replay_hit *hit)
{
	if (samples(rule) && !process->samples)
		process->samples = calloc(1, ADA_SAMPLE_BYTES);
	if (samples(rule) && !process->samples)
		run->result = -ENOMEM;
	else if (ada_rule_marks(&process->state, process->samples, rule, seen))
		run->replay->found(run->replay->context, hit);
}

static void take_moment(void *context, const struct ada_replay_hit *hit)
{
	struct run *run = context;
	const struct ada_selection *selection = run->replay->selection;
	struct ada_rule_event seen = { .counter = hit->ns };
	size_t number = 0;

	while (selection->session->processes.items[number] != hit->process)
		number++;
	if (hit->ns >= selection->from_ns && hit->ns < selection->to_ns)
		mark_take(run, &run->processes[number], &run->rule, &seen, hit);
}

/* Keeps the functions of the open calls, for rules that ask who calls, and how far an exception has come. An exception leaves frame after
 * frame, each shallower than the one before, with destructors' calls in between; a return from above says that it was caught. */
static int follow(struct ada_replay_track *track, const struct ada_event *event)
{
	size_t depth = event->call_depth;
	int result = 0;

	if (event->event_kind == ADA_EVENT_CALL && depth < 1u << 20) {
		while (!result && track->functions.count <= depth)
			result = ada_array_push(&track->functions, UINT64_MAX);
		if (!result)
			track->functions.items[depth] = event->function_id;
	}
	if (event->event_kind == ADA_EVENT_EXCEPTION)
		track->unwinding = event->call_depth;
	else if (event->event_kind == ADA_EVENT_RETURN && event->call_depth < track->unwinding)
		track->unwinding = 0;
	return result;
}

static void event_judge(struct run *run, const struct ada_moment *moment)
{
	const struct ada_session *session = run->replay->selection->session;
	struct ada_replay_hit hit = { .ns = moment->event->timestamp_ns,
				      .process = moment->thread->process,
				      .thread = moment->thread,
				      .index_seq = moment->position,
				      .function_id = moment->event->function_id };
	struct ada_replay_event event;

	event.moment = moment;
	event.track = &run->tracks[moment->thread - session->threads.items];
	event.rule = &run->rule;
	event.sides = moment->event->event_kind <= ADA_EVENT_EXCEPTION ?
			      names_function(run, moment->thread->process, moment->event->function_id) :
			      0;
	if (ada_replay_fits(run->replay->trigger, &event, &hit, &run->replay->untold))
		mark_take(run, event.track->process, event.rule, &event.seen, &hit);
	if (follow(event.track, moment->event))
		run->result = -ENOMEM;
	if (event.sides && run->replay->trigger->kind == ADA_RULE_EXCEPTION && moment->event->event_kind == ADA_EVENT_CALL)
		event.track->unwinding = moment->event->call_depth + 1;
}

static bool is_of_events(enum ada_rule_kind kind)
{
	return kind <= ADA_RULE_EXCEPTION;
}

static int refuse(enum ada_rule_kind kind, const struct ada_trigger *trigger, struct ada_error *error)
{
	switch (kind) {
	case ADA_RULE_CPU:
	case ADA_RULE_CPU_SHARE: return ada_error_set(error, ENOTSUP, "'%s' can't be tested: a session holds no CPU times", trigger->text);
	case ADA_RULE_MEMORY_SHARE:
	case ADA_RULE_MEMORY_BYTES:
		return ada_error_set(error, ENOTSUP, "'%s' can't be tested: a session doesn't hold how much memory was in use",
				     trigger->text);
	case ADA_RULE_MANUAL: return ada_error_set(error, ENOTSUP, "'%s' can't be tested: it marks when someone says so", trigger->text);
	case ADA_RULE_EXCEPTION:
		if (*trigger->exception)
			return ada_error_set(error, ENOTSUP,
					     "'%s' can't be tested: a session doesn't hold the types of exceptions;"
					     " try 'exception'",
					     trigger->text);
		return 0;
	default: return 0;
	}
}

static int read_events(struct run *run, struct ada_error *error)
{
	const struct ada_selection *selection = run->replay->selection;
	enum ada_rule_kind kind = run->replay->trigger->kind;
	struct ada_timeline *timeline;
	struct ada_moment moment;
	int result = ada_timeline_open(&timeline, selection, kind == ADA_RULE_LATENCY || kind == ADA_RULE_PERCENTILE, error);

	if (result)
		return result;
	while (!run->result && ada_timeline_next(timeline, &moment))
		event_judge(run, &moment);
	run->replay->completeness = ada_timeline_completeness(timeline);
	ada_timeline_close(timeline);
	return 0;
}

int ada_replay_run(struct ada_replay *replay, struct ada_error *error)
{
	const struct ada_session *session = replay->selection->session;
	static const struct ada_rolls none;
	struct run run = { .replay = replay };
	int result = refuse(replay->trigger->kind, replay->trigger, error);

	if (result)
		return result;
	ada_trigger_rule(replay->trigger, 1.0, &none, ADA_VALUE_I64, &run.rule);
	run.processes = calloc(session->processes.count + 1, sizeof *run.processes);
	run.tracks = calloc(session->threads.count + 1, sizeof *run.tracks);
	for (size_t i = 0; run.processes && run.tracks && i < session->processes.count; i++)
		for (size_t k = 0; k < session->processes.items[i]->thread_count; k++)
			run.tracks[session->processes.items[i]->first_thread + k].process = &run.processes[i];
	if (!run.processes || !run.tracks) {
		run.result = -ENOMEM;
	} else if (is_of_events(replay->trigger->kind)) {
		result = read_events(&run, error);
	} else {
		ada_replay_moments(replay, take_moment, &run);
		replay->completeness = ada_session_completeness(session);
	}
	for (size_t i = 0; run.processes && i < session->processes.count; i++) {
		replay->matches += run.processes[i].state.matches;
		replay->marks += run.processes[i].state.marks;
		free(run.processes[i].samples);
		free(run.processes[i].spans);
		ada_table_free(&run.processes[i].types);
		ada_table_free(&run.processes[i].begin_types);
	}
	for (size_t i = 0; run.tracks && i < session->threads.count; i++)
		ada_array_free(&run.tracks[i].functions);
	free(run.processes);
	free(run.tracks);
	ada_table_free(&run.named);
	if (!result && run.result)
		result = ada_error_system(error, -run.result, "%s", session->path);
	return result;
}
