#include "cli/live/watch.h"
#include <errno.h>
#include <stdio.h>
#include "base/units.h"
#include "cli/live/span.h"
#include "query/session/clock_view.h"

#define BACK_EVENTS (1u << 20)
#define EXPLAIN_NS 300000000ull /* of a screen each second */

/* Asked before the files are opened: what is over then has all its events in them. */
static int ask(struct ada_watch *watch, struct ada_error *error)
{
	struct ada_error reason = {};
	struct ada_live live;
	int result = ada_live_find(&live, watch->options->session, &reason);

	json_object *status = NULL;

	if (!result) {
		json_object *request = ada_live_request("status");

		json_object_object_add(request, "flush", json_object_new_boolean(true));
		result = ada_live_ask(&live, request, watch->answer_ms, &status, &reason);
	}
	watch->silent = result == -ETIMEDOUT && watch->session;
	if (watch->silent) /* what it said before still holds as far as anyone knows */
		return 0;
	json_object_put(watch->status);
	watch->status = status;
	if (!result || result == -ESRCH)
		return 0;
	return ada_error_set(error, -result, "%s", reason.text);
}

static int open_anew(struct ada_watch *watch, struct ada_session **session, struct ada_error *error)
{
	int result = ada_session_open(session, watch->options->session, error);

	if (!result)
		result = ada_clock_view_set(*session, watch->options->clock, error);
	if (!result && watch->session)
		ada_session_adopt(*session, watch->session);
	return result;
}

static bool is_final(const struct ada_session *session)
{
	bool final = session->processes.count;

	for (size_t i = 0; i < session->processes.count; i++)
		final &= session->processes.items[i]->finalized;
	return final;
}

static uint64_t span_of(const struct ada_watch *watch)
{
	return watch->status && watch->live_span_ns && watch->live_span_ns < watch->span_ns ? watch->live_span_ns : watch->span_ns;
}

static void keep_scene(struct ada_watch *watch, struct ada_session *session, const struct ada_scene *scene)
{
	ada_scene_close(&watch->scene);
	if (watch->session && watch->session != session)
		ada_session_close(watch->session);
	watch->session = session;
	watch->scene = *scene;
	watch->settled = !watch->status && is_final(session);
	watch->recorder_gone = !watch->status && !watch->settled;
	watch->live_span_ns = ada_span_next(span_of(watch), watch->span_ns, watch->scene.stats_cpu_ns,
					    watch->scene.stats.completeness.events);
}

/* Of a session under way the last moment is the one up to which its recorder has written what threads did. */
int ada_watch_look(struct ada_watch *watch, uint64_t at_ns, struct ada_error *error)
{
	struct ada_session *session = watch->session;
	struct ada_written written = {};
	struct ada_scene_how how = { .thread = watch->options->thread, .written = &written, .quick = watch->playing };
	struct ada_scene scene = {};
	int result = 0;

	if (!watch->settled) {
		session = NULL;
		result = ask(watch, error) ?: open_anew(watch, &session, error);
		if (!result && ada_written_read(&written, watch->silent ? NULL : watch->status))
			result = ada_error_set(error, ENOMEM, "out of memory");
	}
	how.at_ns = at_ns ?: written.now_ns;
	how.span_ns = span_of(watch);
	if (watch->status && watch->session) { /* the first look, and one without haste, takes its time */
		how.back_events = BACK_EVENTS;
		how.explain_ns = EXPLAIN_NS;
	}
	if (!result)
		result = ada_scene_open(&scene, session, &how, error);
	ada_written_free(&written);
	if (!result) {
		keep_scene(watch, session, &scene);
		return 0;
	}
	ada_scene_close(&scene);
	if (session && session != watch->session)
		ada_session_close(session);
	return result;
}

const char *ada_watch_share(const struct ada_watch *watch, char share[ADA_WATCH_SHARE])
{
	uint64_t span_ns = watch->scene.end_ns - watch->scene.from_ns;
	uint64_t wanted_ns = watch->scene.end_ns - watch->session->start_ns < watch->span_ns ?
				     watch->scene.end_ns - watch->session->start_ns :
				     watch->span_ns;
	char wanted[ADA_UNITS_TEXT];

	*share = 0;
	if (span_ns < wanted_ns)
		snprintf(share, ADA_WATCH_SHARE, " (%.0f %% of %s)", 100 * (double)span_ns / (double)wanted_ns,
			 ada_format_duration(wanted_ns, wanted));
	return share;
}

void ada_watch_close(struct ada_watch *watch)
{
	json_object_put(watch->status);
	ada_scene_close(&watch->scene);
	if (watch->session)
		ada_session_close(watch->session);
	*watch = (struct ada_watch){};
}
