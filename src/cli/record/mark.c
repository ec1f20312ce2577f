/* ada mark [SESSION] [LABEL]: a manual trigger, and the windows that it makes. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/interrupt.h"
#include "cli/ground/answer.h"
#include "cli/ground/live.h"
#include "cli/record/commands.h"
#include "query/session/session.h"

#define SETTLE_NS 3000000000ull /* beyond the end of the post-roll: then something holds the recorder up */
#define QUIET_NS 1000000000ull	/* without events ends a post-roll in events */
#define AROUND_NS 1000000ull	/* two readings of the clock for the same mark */
#define LOOK_MS 50
#define NAMED 8 /* windows, at most */

struct found {
	ADA_ARRAY(uint64_t) windows; /* their numbers in the session, in its order */
	uint64_t settled;
	uint64_t behind_ns;	/* the longest post-roll */
	uint64_t behind_events; /* asked for behind the mark in a window that isn't settled; 0: it ends by time */
};

static const struct ada_usage usage = {
	"[SESSION] [LABEL]",
	"Marks this moment in a session that is being recorded: the detail around it is kept."
	"\vThe session's policy must have a rule `manual`, as it has by default. LABEL is noted with the mark. Waits until the window is"
	" complete, and says its number; Ctrl-C ends the waiting, and not the mark.",
};

/* --- which windows ------------------------------------------------------------------------------------------------------ */

static bool is_marked(const json_object *entry, uint64_t mark_ns)
{
	json_object *marks = ada_json_get(entry, "marks");

	for (size_t i = 0; i < ada_json_length(marks); i++) {
		const json_object *mark = json_object_array_get_idx(marks, i);
		uint64_t ns = ada_json_u64(mark, "tsNs", 0);

		if (!strcmp(ada_json_text(mark, "kind", ""), "manual") && ns + AROUND_NS >= mark_ns && ns <= mark_ns + QUIET_NS)
			return true;
	}
	return false;
}

/* Of many marks a window names the first ones only. */
static bool holds_unnamed(const json_object *entry, uint64_t mark_ns)
{
	json_object *kinds = ada_json_get(entry, "triggerKinds");

	if (ada_json_u64(entry, "startNs", 0) > mark_ns || ada_json_u64(entry, "endNs", 0) < mark_ns ||
	    ada_json_u64(entry, "markedCount", 0) <= ada_json_length(ada_json_get(entry, "marks")))
		return false;
	for (size_t i = 0; i < ada_json_length(kinds); i++)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(kinds, i)), "manual"))
			return true;
	return false;
}

static uint64_t post_roll_ns(const json_object *entry)
{
	double seconds = json_object_get_double(ada_json_get(entry, "requestedPostRollSec"));
	uint64_t ns = seconds > 0 && seconds < 1e6 ? (uint64_t)(seconds * 1e9) : 0;

	return ada_json_u64(entry, "requestedPostRollEvents", 0) && ns < QUIET_NS ? QUIET_NS : ns;
}

/* A session that can't be read at this moment, or that a file of is being written, has no windows yet. */
static int find_windows(const struct ada_live *live, const struct ada_live_mark *mark, struct found *found)
{
	struct ada_session *session;
	struct ada_error error = { "" };
	int result = 0;

	found->windows.count = found->settled = found->behind_events = 0;
	if (ada_session_open(&session, live->session, &error))
		return 0;
	for (size_t i = 0; i < session->windows.count && !result; i++) {
		const json_object *entry = session->windows.items[i].entry;
		uint64_t behind_ns = post_roll_ns(entry), events = ada_json_u64(entry, "requestedPostRollEvents", 0);
		bool settled = ada_json_bool(entry, "settled", true);

		if (!is_marked(entry, mark->ns) && !holds_unnamed(entry, mark->ns))
			continue;
		result = ada_array_push(&found->windows, i);
		found->settled += settled;
		found->behind_ns = behind_ns > found->behind_ns ? behind_ns : found->behind_ns;
		found->behind_events = !settled && events > found->behind_events ? events : found->behind_events;
	}
	ada_session_close(session);
	return result;
}

/* --- waiting ------------------------------------------------------------------------------------------------------------ */

static int await_windows(const struct ada_live *live, const struct ada_live_mark *mark, struct found *found)
{
	int result;

	for (;;) {
		result = find_windows(live, mark, found);
		if (result || found->settled >= mark->processes || ada_interrupted() ||
		    ada_get_timestamp_ns() > mark->ns + found->behind_ns + SETTLE_NS)
			return result;
		poll(NULL, 0, LOOK_MS);
	}
}

static void say_windows(const struct ada_options *options, const struct ada_live_mark *mark, const struct found *found)
{
	const char *place = options->session ? options->session : "", *before = options->session ? " " : "";

	for (size_t i = 0; i < found->windows.count && i < NAMED; i++)
		printf("%s%llu",
		       i			 ? ", " :
		       found->windows.count == 1 ? "window " :
						   "windows ",
		       (unsigned long long)found->windows.items[i]);
	if (found->windows.count > NAMED)
		printf(" and %zu more", found->windows.count - NAMED);
	if (!found->windows.count)
		printf("no window is there yet: `ada windows%s%s` lists it once it is\n", before, place);
	else if (found->settled >= mark->processes)
		printf(": `ada narrate%s%s --window=%llu` says what happened, and why\n", before, place,
		       (unsigned long long)found->windows.items[0]);
	else if (found->behind_events)
		printf(", not complete yet: until %llu events have come behind the mark, or none for a second;"
		       " `ada narrate%s%s --window=%llu` says what is known\n",
		       (unsigned long long)found->behind_events, before, place, (unsigned long long)found->windows.items[0]);
	else
		printf(", not complete yet: `ada narrate%s%s --window=%llu` says what is known\n", before, place,
		       (unsigned long long)found->windows.items[0]);
}

static int tell_windows(const struct ada_options *options, const struct ada_live *live, const struct ada_live_mark *mark)
{
	struct found found = {};
	int result;

	fflush(stdout);
	ada_interrupt_catch();
	result = await_windows(live, mark, &found);
	if (!result)
		say_windows(options, mark, &found);
	ada_array_free(&found.windows);
	return ada_interrupted() ? ada_interrupt_status() : 0;
}

int ada_cmd_mark(int argc, char **argv)
{
	struct ada_options options = {};
	struct ada_live live;
	struct ada_live_mark mark;
	struct ada_error error = { "" };
	const char *label;

	ada_options_take(&options, &usage, argc, argv);
	ada_options_session(&options);
	label = ada_options_word(&options);
	ada_options_end(&options);
	if (ada_live_find(&live, options.session, &error))
		return ada_answer_fail(argv[0], &error);
	if (ada_live_mark(&live, label, &mark, &error))
		return ada_answer_fail(argv[0], &error);
	printf("marked in %llu process%s\n", (unsigned long long)mark.processes, mark.processes == 1 ? "" : "es");
	return options.no_wait || !mark.processes ? 0 : tell_windows(&options, &live, &mark);
}
