/* The reading of the session beside the answers: all of it once, and of one that is being recorded what comes. */
#include <errno.h>
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

/* What is usual for a function. Pictures don't wait for it. */
static void count_functions(struct ada_view *view)
{
	struct ada_selection selection = {};
	struct ada_stats stats = {};
	bool counted = !ada_selection_open(&selection, view->session, NULL, NULL, NULL, NULL) &&
		       !ada_stats_compute(&stats, &selection, 0, NULL);

	ada_selection_close(&selection);
	pthread_mutex_lock(&view->lock);
	ada_stats_free(&view->stats);
	view->stats = stats;
	atomic_store(&view->counted, counted);
	pthread_mutex_unlock(&view->lock);
}

/* Nothing has come: so it is where a recorder was killed, too. */
static bool is_as_before(const struct ada_session *now, const struct ada_view *view)
{
	const struct ada_session *before = view->session;
	uint64_t events = 0;

	for (size_t i = 0; i < now->threads.count; i++)
		events += now->threads.items[i].events ? now->threads.items[i].count : 0;
	return events == view->zoom.total && now->processes.count == before->processes.count &&
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
		/* The statistics name functions of the session as it was. */
		atomic_store(&view->counted, false);
		ada_stats_free(&view->stats);
		view->stats = (struct ada_stats){};
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
		count_functions(view);
	return status;
}

void *ada_view_read(void *context)
{
	struct ada_view *view = context;
	uint64_t begun_ns = ada_view_now_ns(), took_ns;
	int status = ada_view_read_once(view);

	took_ns = ada_view_now_ns() - begun_ns;
	while (!status && view->live && !ada_interrupted()) {
		rest(took_ns * SHARE > AGAIN_NS ? took_ns * SHARE : AGAIN_NS);
		begun_ns = ada_view_now_ns();
		/* What can't be read now may be in a moment: it is being written. */
		if (!ada_interrupted() && !open_again(view)) {
			ada_zoom_build(&view->zoom, 0);
			count_functions(view);
		}
		took_ns = ada_view_now_ns() - begun_ns;
	}
	return NULL;
}
