/* The reading of the session beside the answers: all of it once, and of one that is being recorded what comes. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/interrupt.h"
#include "cli/view/view.h"

#define LOOK_NS 100000000ull  /* at ada_interrupted() */
#define AGAIN_NS 500000000ull /* a session is opened again after so long, at least */
#define SHARE 4		      /* and after so many times what that took: so it costs a fifth of a CPU at most */

uint64_t ada_view_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool goes_on(const struct ada_session *session)
{
	for (size_t i = 0; i < session->processes.count; i++)
		if (!session->processes.items[i]->finalized)
			return true;
	return false;
}

static uint64_t count_events(const struct ada_session *session)
{
	uint64_t events = 0;

	for (size_t i = 0; i < session->threads.count; i++)
		events += session->threads.items[i].events ? session->threads.items[i].count : 0;
	return events;
}

/* What is usual for a function. Pictures don't wait for it. `own`: a session that was opened for it, which the view keeps; NULL: its own. */
static void count_functions(struct ada_view *view, struct ada_session *own)
{
	struct ada_session *session = own ?: view->session, *before;
	struct ada_selection selection = {};
	struct ada_stats stats = {};
	bool counted = !ada_selection_open(&selection, session, NULL, NULL, NULL, NULL) && !ada_stats_compute(&stats, &selection, 0, NULL);

	ada_selection_close(&selection);
	pthread_mutex_lock(&view->lock);
	ada_stats_free(&view->stats);
	before = view->counted_session;
	view->stats = stats;
	view->counted_session = own;
	view->counted_events = count_events(session);
	atomic_store(&view->counted, counted);
	pthread_mutex_unlock(&view->lock);
	ada_session_close(before);
}

const struct ada_module *ada_view_counted_module(const struct ada_view *view, const struct ada_module *module)
{
	const struct ada_session *session = view->counted_session;

	for (size_t i = 0; session && module && i < session->modules.count; i++)
		if (!strcmp(session->modules.items[i]->path, module->path) &&
		    !strcmp(session->modules.items[i]->build_id, module->build_id))
			return session->modules.items[i];
	return session ? NULL : module;
}

/* Nothing has come: so it is where a recorder was killed, too. */
static bool is_as_before(const struct ada_session *now, const struct ada_view *view)
{
	const struct ada_session *before = view->session;

	return count_events(now) == view->zoom.total && now->processes.count == before->processes.count &&
	       now->threads.count == before->threads.count && now->windows.count == before->windows.count && goes_on(now);
}

/* The session as it is now, with what was read of it before. 0 or -errno: it stays as it was. */
static int open_again(struct ada_view *view)
{
	struct ada_session *now, *before = view->session;
	struct ada_error error = {};
	int status = ada_session_open(&now, before->path, &error);

	if (!status && is_as_before(now, view)) {
		ada_session_close(now);
		pthread_mutex_lock(&view->lock);
		ada_session_take_now(view->session); /* what is open goes on without an event */
		pthread_mutex_unlock(&view->lock);
		status = -EAGAIN;
	}
	if (status)
		return status;
	pthread_mutex_lock(&view->lock);
	status = ada_zoom_follow(&view->zoom, now);
	if (!status) {
		view->session = now;
		view->live = view->zoom.live = goes_on(now);
	}
	pthread_mutex_unlock(&view->lock);
	ada_session_close(status ? now : before);
	return status;
}

static void rest(uint64_t ns)
{
	uint64_t until_ns = ada_view_now_ns() + ns;

	while (!ada_interrupted() && ada_view_now_ns() < until_ns)
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
}

int ada_view_read_once(struct ada_view *view)
{
	uint64_t begun_ns = ada_view_now_ns();
	int status;

	view->live = view->zoom.live = goes_on(view->session);
	view->zoom.keeps = true;
	status = ada_zoom_build(&view->zoom, 0);
	view->built_ns = ada_view_now_ns() - begun_ns;
	if (status)
		ada_error_system(&view->error, -status, "%s", view->session->path);
	atomic_store(&view->state, status ? ADA_VIEW_FAILED : ADA_VIEW_READY);
	if (!status)
		count_functions(view, NULL);
	return status;
}

/* Beside the reading of a session that is recorded: again and again, until it is one of the whole session. */
static void *count_live(void *context)
{
	struct ada_view *view = context;
	bool is_last = false;

	while (!is_last && !ada_interrupted()) {
		uint64_t begun_ns = ada_view_now_ns(), took_ns;
		struct ada_session *session;

		if (!ada_session_open(&session, view->session_path, &(struct ada_error){})) {
			is_last = !goes_on(session);
			if (!atomic_load(&view->counted) || count_events(session) != view->counted_events || is_last)
				count_functions(view, session);
			else
				ada_session_close(session);
		}
		took_ns = ada_view_now_ns() - begun_ns;
		if (!is_last)
			rest(took_ns * SHARE > AGAIN_NS ? took_ns * SHARE : AGAIN_NS);
	}
	return NULL;
}

/* A stretch of time of what isn't read yet, and the session as it is then. What is behind is read meanwhile by answers: see
 * ada_zoom_ahead. */
static int follow(struct ada_view *view)
{
	uint64_t opened_ns = 0, took_ns = 0, wait_ns, before;
	int status = 0;

	while (!status && !ada_interrupted()) {
		before = atomic_load(&view->zoom.done);
		view->zoom.until_ns = view->live ? ada_view_now_ns() + AGAIN_NS : 0;
		status = ada_zoom_build(&view->zoom, 0);
		if (status || !view->zoom.until_ns)
			break;
		if (atomic_load(&view->zoom.done) == view->zoom.total || atomic_load(&view->zoom.done) == before) {
			atomic_store(&view->state, ADA_VIEW_READY);
			wait_ns = took_ns * SHARE > AGAIN_NS ? took_ns * SHARE : AGAIN_NS;
			if (ada_view_now_ns() < opened_ns + wait_ns)
				rest(opened_ns + wait_ns - ada_view_now_ns());
		}
		opened_ns = ada_view_now_ns();
		open_again(view); /* what can't be read now may be in a moment: it is being written */
		took_ns = ada_view_now_ns() - opened_ns;
	}
	return status;
}

void *ada_view_read(void *context)
{
	struct ada_view *view = context;
	uint64_t begun_ns = ada_view_now_ns();
	pthread_t counter;
	int status;

	view->live = view->zoom.live = goes_on(view->session);
	if (!view->live || pthread_create(&counter, NULL, count_live, view)) {
		ada_view_read_once(view);
		return NULL;
	}
	view->zoom.keeps = true;
	status = follow(view);
	view->built_ns = ada_view_now_ns() - begun_ns;
	if (status && status != -EINTR)
		ada_error_system(&view->error, -status, "%s", view->session_path);
	atomic_store(&view->state, status ? ADA_VIEW_FAILED : ADA_VIEW_READY);
	pthread_join(counter, NULL);
	return NULL;
}
