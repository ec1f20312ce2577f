#include "cli/live/scene.h"
#include <errno.h>
#include <string.h>
#include "cli/ground/answer.h"
#include "query/calls/stack.h"
#include "query/session/clock_view.h"

/* When the last process ended, or now. */
static uint64_t end_of(const struct ada_session *session)
{
	uint64_t end = 0;

	for (size_t i = 0; i < session->processes.count; i++) {
		uint64_t of_process = ada_process_end_ns(session->processes.items[i]);

		end = of_process > end ? of_process : end;
	}
	return end ? end : session->start_ns;
}

static int choose_span(struct ada_scene *scene, const struct ada_options *options, struct ada_error *error)
{
	int result = ada_clock_view_set(scene->session, options->clock, error) ?:
			     ada_selection_open(&scene->selection, scene->session, options->thread, NULL, options->to, error);

	if (result)
		return result;
	scene->end_ns = end_of(scene->session);
	if (options->to && scene->selection.to_ns < scene->end_ns)
		scene->end_ns = scene->selection.to_ns;
	scene->from_ns = scene->end_ns > ADA_SCENE_SPAN_NS ? scene->end_ns - ADA_SCENE_SPAN_NS : 0;
	scene->from_ns = scene->from_ns > scene->session->start_ns ? scene->from_ns : scene->session->start_ns;
	scene->selection.from_ns = scene->from_ns;
	if (options->to)
		scene->selection.to_ns = scene->end_ns;
	return 0;
}

static int look_at(const struct ada_scene *scene, const struct ada_thread *thread, struct ada_scene_thread *seen)
{
	const struct ada_frame *frame = NULL;
	struct ada_lookback back;
	uint64_t first, end;
	int result;

	*seen = (struct ada_scene_thread){ .thread = thread };
	ada_selection_range(&scene->selection, thread, &first, &end);
	seen->events = end - first;
	if (!thread->events || !end)
		return 0;
	ada_lookback_open(&back, thread, end);
	result = ada_lookback_get(&back, 0, &frame);
	if (!result && frame) {
		seen->inside = true;
		seen->function_id = frame->function_id;
		seen->position = frame->position;
		seen->since_ns = frame->start_ns;
		seen->depth = frame->depth;
	}
	ada_lookback_close(&back);
	return result;
}

/* What those wait for that are in one call for long. Asked of the recording's end alone: the answer is of calls that are still open. */
static int explain(struct ada_scene *scene)
{
	struct ada_cause_reader *reader = ada_cause_reader_open(scene->session);
	int result = reader ? 0 : -ENOMEM;

	for (size_t i = 0; i < scene->threads.count && !result; i++) {
		struct ada_scene_thread *seen = &scene->threads.items[i];
		struct ada_culprit culprit;
		struct ada_cause cause = {};

		if (!seen->inside || seen->since_ns + ADA_SCENE_WAIT_NS > scene->end_ns)
			continue;
		result = ada_cause_find(reader, seen->thread, seen->position, &cause);
		if (!result && cause.found && cause.links.count) {
			seen->explained = true;
			seen->kind = ada_cause_kind_of(&cause);
			ada_cause_culprit(&cause, &culprit);
			seen->culprit = culprit.thread != seen->thread ? culprit.thread : NULL;
		}
		ada_cause_free(&cause);
	}
	ada_cause_reader_close(reader);
	return result;
}

static int look_at_all(struct ada_scene *scene, bool at_end)
{
	int result = 0;

	for (size_t i = 0; i < scene->selection.threads.count && !result; i++) {
		struct ada_scene_thread seen;

		result = look_at(scene, scene->selection.threads.items[i], &seen);
		if (!result && (seen.inside || seen.events))
			result = ada_array_push(&scene->threads, seen);
	}
	return result || !at_end ? result : explain(scene);
}

int ada_scene_open(struct ada_scene *scene, const struct ada_options *options, struct ada_error *error)
{
	int result;

	*scene = (struct ada_scene){};
	result = ada_session_open(&scene->session, options->session, error);
	if (!result)
		result = choose_span(scene, options, error);
	if (!result)
		result = ada_stats_compute(&scene->stats, &scene->selection, 0, error);
	if (result)
		return result;
	result = look_at_all(scene, !options->to);
	return result ? ada_error_system(error, -result, "%s", scene->session->path) : 0;
}

void ada_scene_close(struct ada_scene *scene)
{
	ada_array_free(&scene->threads);
	ada_stats_free(&scene->stats);
	if (scene->session) {
		ada_selection_close(&scene->selection);
		ada_session_close(scene->session);
	}
	*scene = (struct ada_scene){};
}
