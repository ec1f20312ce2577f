#include "cli/live/scene.h"
#include <errno.h>
#include <string.h>
#include <time.h>
#include "query/calls/stack.h"

#define BACK_EVENTS_MIN 4096

uint64_t ada_scene_last_ns(const struct ada_session *session)
{
	uint64_t end = 0;

	for (size_t i = 0; i < session->processes.count; i++) {
		uint64_t of_process = ada_process_end_ns(session->processes.items[i]);

		end = of_process > end ? of_process : end;
	}
	return end ? end : session->start_ns;
}

uint64_t ada_scene_a_second(const struct ada_scene *scene, uint64_t count)
{
	uint64_t span = scene->end_ns - scene->from_ns;

	return span ? (uint64_t)((double)count * 1e9 / (double)span + 0.5) : 0;
}

static int choose_span(struct ada_scene *scene, const struct ada_scene_how *how, struct ada_error *error)
{
	int result = ada_selection_open(&scene->selection, scene->session, how->thread, NULL, NULL, error);

	if (result)
		return result;
	scene->end_ns = scene->last_ns = ada_scene_last_ns(scene->session);
	if (how->at_ns && how->at_ns < scene->end_ns)
		scene->end_ns = how->at_ns;
	scene->from_ns = scene->end_ns > how->span_ns ? scene->end_ns - how->span_ns : 0;
	scene->from_ns = scene->from_ns > scene->session->start_ns ? scene->from_ns : scene->session->start_ns;
	if (scene->end_ns < scene->from_ns)
		scene->end_ns = scene->from_ns;
	scene->selection.from_ns = scene->from_ns;
	if (how->at_ns)
		scene->selection.to_ns = scene->end_ns;
	return 0;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The first event of a thread to be read where so many are read of all threads; a few are of each. */
static uint64_t floor_of(const struct ada_scene *scene, uint64_t end, uint64_t back_events)
{
	uint64_t share = back_events / (scene->selection.threads.count ?: 1);

	share = share > BACK_EVENTS_MIN ? share : BACK_EVENTS_MIN;
	return back_events && end > share ? end - share : 0;
}

/* Of a session under way the files lag behind the program: that nothing has come for a moment says nothing, unless its recorder does. At least the
 * last event is known: as a question about a time has it, that is of those before. */
static uint64_t known_until(const struct ada_scene *scene, const struct ada_thread *thread, const struct ada_written *written)
{
	const struct ada_event *last = atf_thread_get(thread->events, thread->count - 1);
	uint64_t last_ns = last ? last->timestamp_ns : 0, until_ns;
	bool behind;

	if (thread->process->finalized || last_ns >= scene->end_ns)
		return scene->end_ns;
	until_ns = ada_written_until(written, thread, &behind);
	if (behind)
		return last_ns + 1;
	if (!until_ns && last_ns + ADA_SCENE_LATE_NS < scene->last_ns)
		until_ns = scene->end_ns;
	until_ns = until_ns < scene->end_ns ? until_ns : scene->end_ns;
	return until_ns > last_ns ? until_ns : last_ns + 1;
}

static int look_at(const struct ada_scene *scene, const struct ada_thread *thread, const struct ada_scene_how *how,
		   struct ada_scene_thread *seen)
{
	const struct ada_frame *frame = NULL;
	struct ada_lookback back;
	uint64_t first, end;
	int result;

	*seen = (struct ada_scene_thread){ .thread = thread, .held_in = ADA_NO_FUNCTION };
	ada_selection_range(&scene->selection, thread, &first, &end);
	seen->events = end - first;
	if (!thread->events || !end)
		return 0;
	ada_lookback_open(&back, thread, end);
	back.floor = floor_of(scene, end, how->back_events);
	result = ada_lookback_get(&back, 0, &frame);
	if (!result && frame) {
		seen->inside = true;
		seen->function_id = frame->function_id;
		seen->position = frame->position;
		seen->since_ns = frame->start_ns;
		seen->depth = frame->depth;
		seen->known_ns = known_until(scene, thread, how->written);
	}
	seen->far = !seen->inside && back.gave_up;
	ada_lookback_close(&back);
	return result;
}

/* A call that makes no other: so what it takes long for is what it waits for at any moment of it. One that has made others is not in what these
 * waited for, and there may be millions of them. */
static bool is_one_wait(const struct ada_scene_thread *seen)
{
	const struct ada_event *event;

	for (uint64_t at = seen->position + 1; (event = atf_thread_get(seen->thread->events, at)); at++)
		if (event->event_kind == ADA_EVENT_CALL || event->event_kind == ADA_EVENT_RETURN ||
		    event->event_kind == ADA_EVENT_EXCEPTION)
			return event->event_kind != ADA_EVENT_CALL;
	return true;
}

/* Of a call that waits for nothing that is known: in the whole of it the thread may have lacked a CPU once, and run since. */
static enum ada_cause_kind kind_lately(struct ada_cause_reader *reader, enum ada_cause_kind kind, const struct ada_scene *scene,
				       const struct ada_scene_thread *seen)
{
	uint64_t from_ns = seen->since_ns > scene->from_ns ? seen->since_ns : scene->from_ns;
	enum ada_cause_kind lately;

	if (kind != ADA_CAUSE_UNKNOWN && kind != ADA_CAUSE_PREEMPTED && kind != ADA_CAUSE_RUNQUEUE)
		return kind;
	lately = ada_cause_lately(reader, seen->thread, from_ns, seen->known_ns);
	return lately == ADA_CAUSE_UNKNOWN ? kind : lately;
}

static void tell_cause(struct ada_cause_reader *reader, const struct ada_cause *cause, const struct ada_scene *scene,
		       struct ada_scene_thread *seen)
{
	struct ada_culprit culprit;

	seen->kind = kind_lately(reader, ada_cause_kind_of(cause), scene, seen);
	seen->explained = seen->kind != ADA_CAUSE_UNKNOWN;
	ada_cause_culprit(cause, &culprit);
	if (culprit.thread == seen->thread || seen->kind != ada_cause_kind_of(cause))
		return;
	seen->culprit = culprit.thread;
	if (culprit.thread && (seen->kind == ADA_CAUSE_LOCK || seen->kind == ADA_CAUSE_DEADLOCK))
		seen->held_in = ada_cause_own_function(reader, culprit.thread->process, culprit.path);
}

/* Whether the thread is in one call for long itself. */
static bool rests(const struct ada_scene *scene, const struct ada_thread *thread)
{
	const struct ada_event *last = thread->count ? atf_thread_get(thread->events, thread->count - 1) : NULL;

	return !last || last->timestamp_ns + ADA_SCENE_WAIT_NS <= scene->end_ns;
}

/* Whom a join waits for is told by the recording; what that thread does is its own row's to tell. Only where it rests there may be a deadlock. */
static int explain_one(struct ada_cause_reader *reader, const struct ada_scene *scene, struct ada_scene_thread *seen)
{
	const struct ada_thread *awaited = ada_cause_awaited(seen->thread, seen->position, seen->known_ns);
	struct ada_cause cause = {};
	int result = 0;

	if (!awaited || rests(scene, awaited))
		result = ada_cause_find(reader, seen->thread, seen->position, &cause);
	if (!result && cause.found && cause.links.count)
		tell_cause(reader, &cause, scene, seen);
	ada_cause_free(&cause);
	if (!awaited)
		return result;
	seen->explained = true;
	seen->kind = seen->kind == ADA_CAUSE_DEADLOCK ? seen->kind : ADA_CAUSE_CONDITION;
	seen->culprit = awaited;
	return result;
}

/* What those wait for that are in one call for long: of as many as there is time for. */
static int explain(struct ada_scene *scene, const struct ada_scene_how *how)
{
	struct ada_cause_reader *reader = ada_cause_reader_open(scene->session);
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	int result = reader ? 0 : -ENOMEM;

	for (size_t i = 0; i < scene->threads.count && !result; i++) {
		struct ada_scene_thread *seen = &scene->threads.items[i];

		if (!seen->inside || seen->since_ns + ADA_SCENE_WAIT_NS > seen->known_ns || !is_one_wait(seen))
			continue;
		if (how->explain_ns && clock_ns(CLOCK_MONOTONIC) - begin_ns > how->explain_ns)
			break;
		result = explain_one(reader, scene, seen);
	}
	ada_cause_reader_close(reader);
	return result;
}

static int look_at_all(struct ada_scene *scene, const struct ada_scene_how *how)
{
	int result = 0;

	for (size_t i = 0; i < scene->selection.threads.count && !result; i++) {
		struct ada_scene_thread seen;

		result = look_at(scene, scene->selection.threads.items[i], how, &seen);
		if (!result && (seen.inside || seen.far || seen.events))
			result = ada_array_push(&scene->threads, seen);
	}
	return result || how->quick ? result : explain(scene, how);
}

int ada_scene_open(struct ada_scene *scene, struct ada_session *session, const struct ada_scene_how *how, struct ada_error *error)
{
	int result;

	*scene = (struct ada_scene){ .session = session };
	result = choose_span(scene, how, error);
	scene->stats_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (!result)
		result = ada_stats_compute(&scene->stats, &scene->selection, 0, error);
	scene->stats_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - scene->stats_cpu_ns;
	if (result)
		return result;
	result = look_at_all(scene, how);
	return result ? ada_error_system(error, -result, "%s", session->path) : 0;
}

void ada_scene_close(struct ada_scene *scene)
{
	ada_array_free(&scene->threads);
	ada_stats_free(&scene->stats);
	ada_selection_close(&scene->selection);
	*scene = (struct ada_scene){};
}
