/* What settled windows name: functions on the call paths of their marks, those that were under way in any thread for a good part of a marked
 * call, and the path on which each thread last unlocked, signalled or the like within it. So they hold what a headline names: who waited, in what,
 * who held it or ended the wait. Read back from the files, which a window leaves for a moment; of a long one as much as EVENTS_MAX allows. */
#include "atf.h"
#include "base/file.h"
#include "recorder/budget/lines.h"
#include "recorder/detail/detail.h"
#include "recorder/state/provider.h"

#define MARKS_MAX 4u	 /* of a window */
#define THREADS_MAX 256u /* of a process: the first ones */
#define EVENTS_MAX 400000u
#define SHARE 0.1 /* of a marked call, that is worth a name */
#define DEPTH_MAX 4096u
#define OBJECTS_MAX 8u
#define WINDOWS_MAX 4u	      /* a look */
#define FILE_NS 1500000000ull /* until what is recorded is in its file, at most */
#define MISSED_MAX 3u	      /* windows for which that was too little: then no other is waited for */

struct search {
	struct ada_budget *budget;
	struct atf_thread *thread;
	uint64_t left;			     /* events that may still be looked at */
	uint64_t begin_ns, end_ns, least_ns; /* of a marked call, and what is long in it */
	uint64_t objects[OBJECTS_MAX];	     /* that it waited for */
	size_t object_count;
	uint64_t ends[DEPTH_MAX]; /* when the call at each depth ended, which is later than what is looked at */
};

static void function_keep(struct ada_budget *budget, uint64_t function_id)
{
	size_t position = ada_budget_line_of(budget, function_id);

	if (position == SIZE_MAX || budget->lines.items[position].on_path)
		return;
	budget->lines.items[position].on_path = true;
	budget->lines.items[position].looked_for = false;
	ada_budget_look_up(budget, position);
}

static const struct ada_event *event_at(struct search *search, uint64_t position)
{
	const struct ada_event *event = search->left ? atf_thread_get(search->thread, position) : NULL;

	search->left -= search->left > 0;
	return event;
}

static bool is_end(const struct ada_event *event)
{
	return event->event_kind == ADA_EVENT_RETURN || event->event_kind == ADA_EVENT_EXCEPTION;
}

/* A call at that depth that began before a marked call's time, and was open in it, was so for long. */
static bool was_long(const struct search *search, int64_t depth)
{
	return search->ends[depth % DEPTH_MAX] - search->begin_ns >= search->least_ns;
}

/* The calls that are open behind the event, as far back as is looked. `all`: and what it ends; else only those that were open for long in the
 * time that begins there. */
static void keep_path(struct search *search, uint64_t position, bool all)
{
	const struct ada_event *event = event_at(search, position);
	int64_t wanted = event ? (int64_t)event->call_depth : -1;

	if (event && is_end(event)) {
		wanted--;
		if (all)
			function_keep(search->budget, event->function_id);
	}
	for (; event && wanted >= 0; event = position-- ? event_at(search, position) : NULL) {
		if (event->event_kind != ADA_EVENT_CALL || event->call_depth != wanted)
			continue;
		if (all || was_long(search, wanted))
			function_keep(search->budget, event->function_id);
		wanted--;
	}
}

/* What a call that took long worked on, where it says so. */
static void note_object(struct search *search, uint64_t call)
{
	const struct ada_event *event = event_at(search, call + 1);

	if (event && event->event_kind == ADA_EVENT_OBJECT)
		search->objects[search->object_count++ % OBJECTS_MAX] = event->function_id;
}

static bool is_object(const struct search *search, uint64_t id)
{
	for (size_t i = 0; i < search->object_count && i < OBJECTS_MAX; i++)
		if (search->objects[i] == id)
			return true;
	return false;
}

/* Backwards through what the thread did in the marked call's time. `own`: the thread of the mark, else whoever may have ended its wait. */
static void keep_long_calls(struct search *search, bool own)
{
	uint64_t position = atf_thread_lower_bound(search->thread, search->end_ns + 1);
	const struct ada_event *event;
	bool seen = own;

	for (size_t i = 0; i < DEPTH_MAX; i++)
		search->ends[i] = search->end_ns;
	for (; position && (event = event_at(search, position - 1)) && event->timestamp_ns >= search->begin_ns; position--) {
		uint64_t *end = &search->ends[event->call_depth % DEPTH_MAX];

		if (event->event_kind == ADA_EVENT_OBJECT && !seen && is_object(search, event->function_id)) {
			seen = true;
			keep_path(search, position - 1, true);
		}
		if (event->event_kind == ADA_EVENT_CALL && *end - event->timestamp_ns >= search->least_ns) {
			function_keep(search->budget, event->function_id);
			if (own)
				note_object(search, position - 1);
		}
		if (is_end(event) || event->event_kind == ADA_EVENT_CALL)
			*end = event->timestamp_ns;
	}
	if (position)
		keep_path(search, position - 1, false);
}

/* When the call began whose end the event is; its own time where it is none. */
static uint64_t begin_of(struct search *search, uint64_t position)
{
	const struct ada_event *end = event_at(search, position), *event = end;

	if (!end || !is_end(end))
		return end ? end->timestamp_ns : 0;
	while (position-- && (event = event_at(search, position)))
		if (event->event_kind == ADA_EVENT_CALL && event->call_depth == end->call_depth)
			return event->timestamp_ns;
	return end->timestamp_ns;
}

static bool thread_open(struct search *search, uint32_t number)
{
	char directory[PATH_MAX];
	struct atf_message message;

	return !ada_path(directory, "%s/thread_%u", search->budget->provider->directory, number) &&
	       !atf_thread_open(&search->thread, directory, &message);
}

/* Whether all that was drained of the thread until the end of the marked call is in its files. */
static bool is_written(const struct search *search, const struct ada_lane *lane)
{
	uint64_t count = atf_thread_count(search->thread);
	const struct ada_event *last = count ? atf_thread_get(search->thread, count - 1) : NULL;

	return count >= lane->events || (last && last->timestamp_ns > search->end_ns);
}

/* False: not all of it is in the files yet. */
static bool look_at_others(struct search *search, const struct ada_window_mark *mark)
{
	const struct ada_drain *drain = &search->budget->provider->drain;
	bool there = true;

	for (uint32_t i = 0; i < drain->lanes.count && i < THREADS_MAX && search->left; i++) {
		if (i == mark->thread || !drain->lanes.items[i].events)
			continue;
		if (!thread_open(search, i))
			return false;
		there = there && is_written(search, &drain->lanes.items[i]);
		keep_long_calls(search, false);
		atf_thread_close(search->thread);
	}
	return there;
}

/* False: not all that it needs is in the files yet. */
static bool take_mark(struct search *search, const struct ada_window_mark *mark)
{
	uint64_t position = mark->index_seq;
	const struct ada_event *event;

	if (mark->none || mark->thread == UINT32_MAX || mark->index_seq == UINT64_MAX || !thread_open(search, mark->thread))
		return true;
	for (uint32_t i = 0; i < mark->segment && i < atf_thread_segments(search->thread); i++)
		position += atf_index_count(atf_thread_segment(search->thread, i));
	event = event_at(search, position);
	if (event && event->function_id == mark->function_id) {
		search->end_ns = event->timestamp_ns;
		search->begin_ns = begin_of(search, position);
		search->least_ns = (uint64_t)((double)(search->end_ns - search->begin_ns) * SHARE);
		keep_path(search, position, true);
		if (search->least_ns)
			keep_long_calls(search, true);
	}
	atf_thread_close(search->thread);
	return event && (!search->least_ns || look_at_others(search, mark));
}

bool ada_budget_note_windows(struct ada_budget *budget, uint64_t now_ns)
{
	struct ada_windows *windows = budget->provider->details ? ada_details_windows(budget->provider->details) : NULL;
	unsigned looked_at = 0;

	for (size_t i = 0; windows && i < ada_windows_count(windows) && looked_at < WINDOWS_MAX; i++) {
		const struct ada_window *window = ada_windows_at(windows, i);
		struct search search = { .budget = budget, .left = EVENTS_MAX };
		bool there = true;

		if (window->start_ns < budget->windows_ns)
			continue;
		if (!window->settled)
			return true;
		for (size_t k = 0; k < window->marks.count && k < MARKS_MAX && there; k++)
			there = take_mark(&search, &window->marks.items[k]);
		budget->windows_since_ns = budget->windows_since_ns ?: now_ns;
		if (!there && now_ns < budget->windows_since_ns + FILE_NS && budget->windows_missed < MISSED_MAX)
			return false;
		budget->windows_missed += !there;
		budget->windows_since_ns = 0;
		budget->windows_ns = window->start_ns + 1;
		looked_at++;
	}
	return true;
}
