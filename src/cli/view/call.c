/* One call: how long it took, against what is usual, in what it lies, and where to go from there. */
#include <errno.h>
#include "cli/view/names.h"
#include "query/tally/stats.h"

#define NEIGHBOUR_NS 20000000u /* for so long an answer looks for a neighbour: the page asks for one that is farther (hit.c) */

static void put_usual(struct ada_output *output, const struct ada_function_stats *function, const struct ada_zoom_open *call)
{
	const struct ada_histogram *durations = &function->durations;

	ada_output_string(output, ", \"usual\": {\"calls\": ");
	ada_output_u64(output, function->calls);
	if (durations->count) {
		ada_view_put(output, "min_ns", durations->min);
		ada_view_put(output, "p50_ns", ada_histogram_percentile(durations, 500));
		ada_view_put(output, "p90_ns", ada_histogram_percentile(durations, 900));
		ada_view_put(output, "p99_ns", ada_histogram_percentile(durations, 990));
		ada_view_put(output, "max_ns", durations->max);
	}
	if (durations->count && call->end_ns != UINT64_MAX)
		ada_view_put(output, "rank", ada_histogram_rank(durations, call->end_ns - call->start_ns));
	ada_output_string(output, "}");
}

/* The first call that it makes: the next event that begins or ends one. */
static uint64_t first_callee(const struct ada_thread *thread, uint64_t position, uint32_t depth)
{
	const struct ada_event *event;

	while ((event = atf_thread_get(thread->events, ++position)))
		if (event->event_kind <= ADA_EVENT_LOST)
			return event->event_kind == ADA_EVENT_CALL && event->call_depth > depth ? position : UINT64_MAX;
	return UINT64_MAX;
}

static void put_place(struct ada_output *output, const struct ada_view *view, const struct ada_thread *thread, const char *name,
		      uint64_t position)
{
	const struct ada_event *event = position == UINT64_MAX ? NULL : atf_thread_get(thread->events, position);

	if (!event)
		return;
	ada_output_string(output, ", \"");
	ada_output_string(output, name);
	ada_output_string(output, "\": {\"seq\": ");
	ada_output_u64(output, position);
	ada_view_put(output, "at", ada_view_relative(view, event->timestamp_ns));
	ada_output_string(output, ", \"function\": ");
	ada_view_put_function(output, thread->process, event->function_id);
	ada_output_string(output, "}");
}

/* The previous or next call of the same function; where that isn't found soon, how far it was looked for. */
static void put_neighbour(struct ada_output *output, const struct ada_view *view, const struct ada_zoom_thread *zoomed,
			  const struct ada_zoom_open *call, bool backwards)
{
	const char *name = backwards ? "previous" : "next";
	uint64_t id = call->function_id;
	struct ada_zoom_functions functions;
	struct ada_zoom_seek seek;

	ada_zoom_functions_make(&functions, &id, 1);
	ada_zoom_seek_open(&seek, zoomed, &functions, call->position + !backwards, backwards);
	ada_zoom_seek_run(&seek, backwards ? 0 : UINT64_MAX, ada_view_now_ns() + NEIGHBOUR_NS);
	put_place(output, view, zoomed->thread, name, seek.found);
	if (seek.found != UINT64_MAX || seek.done)
		return;
	ada_output_string(output, ", \"");
	ada_output_string(output, name);
	ada_output_string(output, "\": {\"looked\": ");
	ada_output_u64(output, ada_view_relative(view, seek.next_ns));
	ada_output_string(output, "}");
}

static void put_path(struct ada_output *output, const struct ada_view *view, const struct ada_thread *thread, const ada_zoom_path *path)
{
	ada_output_string(output, ", \"path\": [");
	for (size_t i = 0; i < path->count; i++) {
		const struct ada_zoom_open *open = &path->items[i];

		ada_output_string(output, i ? ",\n{\"function\": " : "\n{\"function\": ");
		ada_view_put_function(output, thread->process, open->function_id);
		ada_view_put(output, "seq", open->position);
		ada_view_put(output, "at", ada_view_relative(view, open->start_ns));
		if (open->end_ns != UINT64_MAX)
			ada_view_put(output, "duration_ns", open->end_ns - open->start_ns);
		ada_output_string(output, "}");
	}
	ada_output_string(output, "]");
}

/* What is known of the function, maybe of fewer events; NULL: nothing. */
static const struct ada_function_stats *usual_of(const struct ada_view *view, const struct ada_process *process, uint64_t function_id)
{
	const struct ada_module *module = ada_view_counted_module(view, ada_process_module(process, function_id));

	if (!atomic_load(&view->counted) || (view->counted_session && !module))
		return NULL;
	return ada_stats_of(&view->stats, module ? (uint64_t)module->number << 32 | ADA_FUNCTION_SYMBOL(function_id) :
						   ada_process_function_key(process, function_id));
}

static void put_call(struct ada_question *question, const struct ada_zoom_thread *zoomed, const ada_zoom_path *path)
{
	const struct ada_view *view = question->view;
	const struct ada_thread *thread = zoomed->thread;
	struct ada_output *output = question->output;
	const struct ada_zoom_open *call = &path->items[path->count - 1];
	const struct ada_function_stats *function = usual_of(view, thread->process, call->function_id);

	ada_output_string(output, "{\"function\": ");
	ada_view_put_function(output, thread->process, call->function_id);
	ada_view_put(output, "thread", (uint64_t)(thread - view->session->threads.items));
	ada_view_put(output, "seq", call->position);
	ada_view_put(output, "at", ada_view_relative(view, call->start_ns));
	if (call->end_ns != UINT64_MAX)
		ada_view_put(output, "duration_ns", call->end_ns - call->start_ns);
	ada_view_put(output, "depth", call->depth);
	put_path(output, view, thread, path);
	if (function)
		put_usual(output, function, call);
	put_place(output, view, thread, "caller", path->count > 1 ? path->items[path->count - 2].position : UINT64_MAX);
	put_place(output, view, thread, "callee", first_callee(thread, call->position, call->depth));
	put_neighbour(output, view, zoomed, call, true);
	put_neighbour(output, view, zoomed, call, false);
	ada_output_string(output, "}\n");
}

/* The call that an event belongs to: of a CALL its own, else the last one that began before it. */
static int find_path(ada_zoom_path *path, const struct ada_zoom_thread *zoomed, uint64_t position)
{
	int status = ada_zoom_path_at(path, zoomed, position);
	const struct ada_event *event;

	while (status == -ENOENT && position-- && (event = atf_thread_get(zoomed->thread->events, position)))
		if (event->event_kind == ADA_EVENT_CALL)
			return ada_zoom_path_at(path, zoomed, position);
	return status;
}

/* Arguments `thread` and `seq`. */
int ada_view_call(struct ada_question *question)
{
	const struct ada_zoom_thread *zoomed;
	ada_zoom_path path = {};
	uint64_t position;
	int status = ada_question_number(question, "seq", 0, &position);

	if (status)
		return status;
	pthread_mutex_lock(&question->view->lock);
	status = ada_question_thread(question, &zoomed);
	if (status) {
		pthread_mutex_unlock(&question->view->lock);
		return status;
	}
	ada_zoom_enter(zoomed);
	status = zoomed->thread->events && position < zoomed->thread->count ? find_path(&path, zoomed, position) : -ENOENT;
	if (!status)
		put_call(question, zoomed, &path);
	ada_zoom_leave(zoomed);
	pthread_mutex_unlock(&question->view->lock);
	ada_array_free(&path);
	if (status == -ENOENT)
		return ada_error_set(&question->error, ENOENT, "no call is there");
	return status ? ada_error_set(&question->error, -status, "out of memory") : 0;
}
