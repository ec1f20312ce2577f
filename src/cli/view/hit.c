/* The next call of some functions, of all threads, wherever it is. Threads are looked through side by side, always that which has come least
 * far: so an answer that isn't done when its time is over says up to when there is none, and the next one goes on there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli/view/names.h"
#include "cli/view/search.h"

/* Calls come in the order of their times; at the same time in that of threads, and in a thread of their positions. */
struct hunt {
	struct ada_view_search search;
	bool backwards;
	uint64_t only;	      /* this thread; UINT64_MAX: all */
	uint64_t ns;	      /* from then on, backwards before then */
	uint64_t thread, seq; /* behind this event, which is at that time, or before it; seq UINT64_MAX: no event is meant */
	ADA_ARRAY(struct ada_zoom_seek) seeks;
	struct ada_zoom_seek *best; /* has the first call of those found; NULL: none has one */
	uint64_t best_ns;
};

static bool comes_first(const struct hunt *hunt, uint64_t ns, uint64_t other_ns)
{
	return hunt->backwards ? ns > other_ns : ns < other_ns;
}

static int hunt_read(struct hunt *hunt, struct ada_question *question)
{
	const char *step = ada_question_text(question, "step");
	int status = ada_view_search_open(&hunt->search, question);

	if (!status && (!step || (strcmp(step, "1") && strcmp(step, "-1"))))
		status = ada_error_set(&question->error, EINVAL, "step: 1 or -1");
	if (!status)
		status = ada_question_number(question, "time", 0, &hunt->ns);
	if (!status)
		status = ada_question_number(question, "thread", 0, &hunt->thread);
	if (!status)
		status = ada_question_number(question, "seq", UINT64_MAX, &hunt->seq);
	if (!status)
		status = ada_question_number(question, "only", UINT64_MAX, &hunt->only);
	if (status)
		return status;
	hunt->backwards = *step == '-';
	hunt->ns = ada_view_absolute(question->view, hunt->ns);
	return 0;
}

/* A session that is recorded may have been opened anew since the page saw it: an event at another time is another one. */
static void check_event(struct hunt *hunt)
{
	const struct ada_session *session = hunt->search.question->view->session;
	const struct ada_thread *thread = hunt->thread < session->threads.count ? &session->threads.items[hunt->thread] : NULL;
	const struct ada_event *event = thread && thread->events && hunt->seq < thread->count ? atf_thread_get(thread->events, hunt->seq) :
												NULL;

	if (event && event->timestamp_ns == hunt->ns)
		return;
	hunt->thread = 0;
	hunt->seq = UINT64_MAX;
}

static uint64_t position_in(const struct hunt *hunt, const struct ada_thread *thread, size_t number)
{
	uint64_t position;

	if (!thread->events)
		return 0;
	if (number == hunt->thread && hunt->seq != UINT64_MAX)
		return hunt->seq + !hunt->backwards;
	/* Of events at that time those of earlier threads come before the one that is meant. */
	position = atf_thread_lower_bound(thread->events, hunt->ns + (number < hunt->thread && hunt->ns < UINT64_MAX));
	return position < thread->count ? position : thread->count;
}

static int hunt_begin(struct hunt *hunt)
{
	const struct ada_view *view = hunt->search.question->view;
	int status = ada_view_search_functions(&hunt->search);

	check_event(hunt);
	for (size_t i = 0; i < view->session->threads.count && !status; i++) {
		const struct ada_zoom_thread *thread = &view->zoom.threads[i];
		const struct ada_zoom_functions *functions = ada_view_search_in(&hunt->search, thread->thread->process);
		struct ada_zoom_seek seek;

		if (!functions)
			return -ENOMEM;
		if (!functions->count || (hunt->only != UINT64_MAX && hunt->only != i))
			continue;
		ada_zoom_enter(thread);
		ada_zoom_seek_open(&seek, thread, functions, position_in(hunt, thread->thread, i), hunt->backwards);
		ada_zoom_leave(thread);
		status = ada_array_push(&hunt->seeks, seek);
	}
	return status;
}

/* The one that has come least far, and how far the next one has; NULL: all are done. */
static struct ada_zoom_seek *find_last(const struct hunt *hunt, uint64_t *limit_ns)
{
	struct ada_zoom_seek *last = NULL;

	*limit_ns = hunt->backwards ? 0 : UINT64_MAX;
	if (hunt->best)
		*limit_ns = hunt->best_ns;
	for (size_t i = 0; i < hunt->seeks.count; i++) {
		struct ada_zoom_seek *seek = &hunt->seeks.items[i];

		if (seek->done || seek->found != UINT64_MAX)
			continue;
		if (!last || comes_first(hunt, seek->next_ns, last->next_ns)) {
			if (last && comes_first(hunt, last->next_ns, *limit_ns))
				*limit_ns = last->next_ns;
			last = seek;
		} else if (comes_first(hunt, seek->next_ns, *limit_ns)) {
			*limit_ns = seek->next_ns;
		}
	}
	return last;
}

static void note_found(struct hunt *hunt, struct ada_zoom_seek *seek)
{
	uint64_t ns = atf_thread_get(seek->thread->thread->events, seek->found)->timestamp_ns;
	bool is_later_thread = hunt->best && seek > hunt->best;

	if (!hunt->best || comes_first(hunt, ns, hunt->best_ns) || (ns == hunt->best_ns && is_later_thread == hunt->backwards)) {
		hunt->best = seek;
		hunt->best_ns = ns;
	}
}

/* The time up to which there is no call, backwards from which on; UINT64_MAX: the best one, if any, is the next one. */
static uint64_t hunt_run(struct hunt *hunt)
{
	uint64_t until_ns = ada_view_now_ns() + hunt->search.look_ns, limit_ns;
	struct ada_zoom_seek *last;

	while ((last = find_last(hunt, &limit_ns)) && (!hunt->best || !comes_first(hunt, hunt->best_ns, last->next_ns))) {
		uint64_t looked_ns = last->next_ns + hunt->backwards;

		/* An answer that has come no further than the one before would be the last one's question again. */
		if (comes_first(hunt, hunt->ns, looked_ns) && ada_view_now_ns() >= until_ns)
			return looked_ns;
		ada_zoom_enter(last->thread);
		ada_zoom_seek_run(last, limit_ns, until_ns);
		ada_zoom_leave(last->thread);
		if (last->found != UINT64_MAX)
			note_found(hunt, last);
	}
	return UINT64_MAX;
}

static void put_hit(const struct hunt *hunt, uint64_t looked_ns)
{
	const struct ada_view *view = hunt->search.question->view;
	struct ada_output *output = hunt->search.question->output;
	const struct ada_zoom_seek *best = looked_ns == UINT64_MAX ? hunt->best : NULL;

	if (!best) {
		ada_output_string(output, "{\"hit\": null");
		if (looked_ns != UINT64_MAX)
			ada_view_put(output, "looked", ada_view_relative(view, looked_ns));
		ada_output_string(output, "}\n");
		return;
	}
	ada_output_string(output, "{\"hit\": {\"function\": ");
	ada_view_put_function(output, best->thread->thread->process,
			      atf_thread_get(best->thread->thread->events, best->found)->function_id);
	ada_view_put(output, "thread", (uint64_t)(best->thread - view->zoom.threads));
	ada_view_put(output, "seq", best->found);
	ada_view_put(output, "at", ada_view_relative(view, hunt->best_ns));
	ada_output_string(output, "}}\n");
}

/* Arguments `function`, `step` (1 or -1), `time`, and `thread` and `seq` of an event at that time, behind which it goes on; `only`: a
 * thread. */
int ada_view_hit(struct ada_question *question)
{
	struct hunt hunt = {};
	int status = hunt_read(&hunt, question);

	if (!status) {
		pthread_mutex_lock(&question->view->lock);
		status = hunt_begin(&hunt);
		if (!status)
			put_hit(&hunt, hunt_run(&hunt));
		pthread_mutex_unlock(&question->view->lock);
		if (status)
			ada_error_set(&question->error, -status, "out of memory");
	}
	ada_array_free(&hunt.seeks);
	ada_view_search_close(&hunt.search);
	return status;
}
