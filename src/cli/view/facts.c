/* What there is: processes, threads, windows and marks; and how far the reading has come. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "cli/view/view.h"
#include "query/session/windows.h"

static void put_processes(struct ada_output *output, const struct ada_session *session)
{
	ada_output_string(output, ", \"processes\": [");
	for (size_t i = 0; i < session->processes.count; i++) {
		const struct ada_process *process = session->processes.items[i];

		ada_output_string(output, i ? ",\n{\"directory\": " : "\n{\"directory\": ");
		ada_output_json(output, process->directory);
		ada_view_put(output, "pid", process->pid);
		ada_output_string(output, ", \"program\": ");
		ada_output_json(output, ada_json_text(process->manifest, "program", ""));
		ada_output_string(output, process->finalized ? ", \"finalized\": true}" : ", \"finalized\": false}");
	}
	ada_output_string(output, "]");
}

/* Of what is recorded the losses are those that were read so far. Else the session would read all of it for them, whenever it was opened
 * again, and the page would wait. */
static void take_losses(struct ada_view *view)
{
	for (size_t i = 0; i < view->session->threads.count; i++) {
		struct ada_thread *thread = &view->session->threads.items[i];
		const struct ada_zoom_thread *zoomed = &view->zoom.threads[i];
		uint64_t lost = 0;

		if (thread->process->finalized)
			continue;
		ada_zoom_enter(zoomed);
		for (size_t j = 0; j < zoomed->losses.count; j++)
			lost += zoomed->losses.items[j].events;
		ada_zoom_leave(zoomed);
		thread->lost = lost > thread->lost ? lost : thread->lost;
		thread->counted = true;
	}
}

static void put_threads(struct ada_output *output, const struct ada_view *view)
{
	const struct ada_session *session = view->session;

	ada_output_string(output, ", \"threads\": [");
	for (size_t i = 0; i < session->threads.count; i++) {
		const struct ada_thread *thread = &session->threads.items[i];
		const struct ada_zoom_thread *zoomed = &view->zoom.threads[i];

		ada_output_string(output, i ? ",\n{\"process\": " : "\n{\"process\": ");
		ada_output_json(output, thread->process->directory);
		ada_view_put(output, "number", thread->number);
		ada_view_put(output, "tid", thread->tid);
		ada_view_put(output, "events", thread->events ? thread->count : 0);
		ada_view_put(output, "lost", ada_thread_lost(thread));
		ada_zoom_enter(zoomed);
		if (zoomed->read || zoomed->ahead.count)
			ada_view_put(output, "depths", ada_zoom_depths(zoomed));
		if (zoomed->read) {
			ada_view_put(output, "from", ada_view_relative(view, zoomed->levels[0].nodes.items->first_ns));
			ada_view_put(output, "to", ada_view_relative(view, zoomed->read_ns));
		}
		ada_zoom_leave(zoomed);
		ada_output_string(output, ", \"name\": ");
		ada_output_json(output, thread->name);
		ada_output_string(output, "}");
	}
	ada_output_string(output, "]");
}

/* As the user wrote it; "" where no rule marked. */
static const char *rule_text(const struct ada_process *process, const json_object *mark)
{
	const json_object *rules = ada_json_get(ada_json_get(process->manifest, "marking_policy"), "rules");
	uint64_t id = ada_json_u64(mark, "rule", UINT64_MAX);

	for (size_t i = 0; i < ada_json_length(rules); i++) {
		const json_object *rule = json_object_array_get_idx(rules, i);

		if (ada_json_u64(rule, "id", UINT64_MAX - 1) == id)
			return ada_json_text(rule, "text", "");
	}
	return "";
}

/* A mark: a flag on its thread, where it names an event. */
static void put_mark(struct ada_output *output, const struct ada_view *view, const struct ada_process *process, const json_object *mark)
{
	const struct ada_thread *thread;
	uint64_t position;

	ada_output_string(output, "{\"kind\": ");
	ada_output_json(output, ada_json_text(mark, "kind", "mark"));
	ada_output_string(output, ", \"rule\": ");
	ada_output_json(output, rule_text(process, mark));
	ada_output_string(output, ", \"label\": ");
	ada_output_json(output, ada_json_text(mark, "label", ""));
	ada_view_put(output, "at", ada_view_relative(view, ada_json_u64(mark, "tsNs", 0)));
	if (ada_mark_event(process, mark, &thread, &position)) {
		ada_view_put(output, "thread", (uint64_t)(thread - view->session->threads.items));
		ada_view_put(output, "seq", position);
	}
	ada_output_string(output, "}");
}

static void put_windows(struct ada_output *output, const struct ada_view *view)
{
	const struct ada_session *session = view->session;

	ada_output_string(output, ", \"windows\": [");
	for (size_t i = 0; i < session->windows.count; i++) {
		const struct ada_recorded_window *window = &session->windows.items[i];
		const json_object *marks = ada_json_get(window->entry, "marks");
		char *kinds = ada_window_kinds(window->entry);
		size_t count = ada_json_length(marks);

		ada_output_string(output, i ? ",\n{\"process\": " : "\n{\"process\": ");
		ada_output_json(output, window->process->directory);
		ada_view_put(output, "window", i);
		ada_view_put(output, "from", ada_view_relative(view, window->start_ns));
		if (window->end_ns != UINT64_MAX)
			ada_view_put(output, "to", ada_view_relative(view, window->end_ns));
		ada_view_put(output, "events", window->event_count);
		ada_output_string(output, ", \"kinds\": ");
		ada_output_json(output, kinds && *kinds ? kinds : ada_json_text(window->entry, "triggerKind", "?"));
		ada_output_string(output, ", \"marks\": [");
		for (size_t j = 0; j < count; j++) {
			ada_output_string(output, j ? ", " : "");
			put_mark(output, view, window->process, json_object_array_get_idx(marks, j));
		}
		ada_output_string(output, "]}");
		free(kinds);
	}
	ada_output_string(output, "]");
}

int ada_view_facts(struct ada_question *question)
{
	struct ada_view *view = question->view;
	struct ada_output *output = question->output;
	const struct ada_session *session;
	struct ada_completeness completeness;
	int state = atomic_load(&view->state);
	uint64_t end_ns;

	pthread_mutex_lock(&view->lock);
	session = view->session;
	take_losses(view);
	end_ns = session->start_ns;
	for (size_t i = 0; i < session->processes.count; i++) {
		uint64_t ended_ns = ada_process_end_ns(session->processes.items[i]);

		end_ns = ended_ns > end_ns ? ended_ns : end_ns;
	}
	ada_output_string(output, "{\"path\": ");
	ada_output_json(output, session->path);
	ada_output_string(output, state == ADA_VIEW_READY   ? ", \"state\": \"ready\"" :
				  state == ADA_VIEW_READING ? ", \"state\": \"reading\"" :
							      ", \"state\": \"failed\"");
	ada_output_string(output, ", \"error\": ");
	ada_output_json(output, state == ADA_VIEW_FAILED ? view->error.text : "");
	ada_view_put(output, "read", atomic_load(&view->zoom.done));
	ada_view_put(output, "events", view->zoom.total);
	if (state == ADA_VIEW_READY)
		ada_view_put(output, "builtNs", view->built_ns);
	ada_output_string(output, atomic_load(&view->counted) && view->counted_events == view->zoom.total ? ", \"counted\": true" :
													    ", \"counted\": false");
	ada_view_put(output, "end", ada_view_relative(view, end_ns));
	ada_output_string(output, view->live ? ", \"live\": true" : ", \"live\": false");
	put_processes(output, session);
	completeness = ada_session_completeness(session);
	put_threads(output, view);
	put_windows(output, view);
	ada_view_put(output, "lost", completeness.lost);
	ada_view_put(output, "overwritten", completeness.overwritten);
	ada_view_put(output, "aged", completeness.aged);
	ada_output_string(output, completeness.complete ? ", \"complete\": true}\n" : ", \"complete\": false}\n");
	pthread_mutex_unlock(&view->lock);
	return 0;
}
