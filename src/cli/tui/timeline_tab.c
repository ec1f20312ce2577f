/* The calls of one thread in the order of time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/screen/ask.h"
#include "cli/screen/keys.h"
#include "cli/screen/screen.h"
#include "cli/tui/lanes.h"
#include "cli/tui/tui.h"
#include "query/calls/stack.h"

#define LOOK_EVENTS 65536 /* how far a row looks for its call's end; then it says "more than" */
#define INDENT_MAX 40
#define DURATION_TEXT (ADA_UNITS_TEXT + 1) /* ">" before it */
#define FIND_EVENTS (1u << 16)		   /* between two questions whether to go on */

static const struct ada_thread *shown_thread(const struct ada_tui *tui)
{
	return tui->timeline.walk.thread;
}

static void stand_at(struct ada_tui *tui, uint64_t position)
{
	struct ada_tui_timeline *timeline = &tui->timeline;

	timeline->empty = !ada_walk_at_or_behind(&timeline->walk, &position) && !ada_walk_before(&timeline->walk, &position);
	timeline->cursor = timeline->top = position;
}

static void raise_top(struct ada_tui *tui, int rows)
{
	for (; rows > 0; rows--)
		ada_walk_before(&tui->timeline.walk, &tui->timeline.top);
}

void ada_tui_timeline_open(struct ada_tui *tui, size_t thread, uint64_t ns)
{
	struct ada_tui_timeline *timeline = &tui->timeline;

	timeline->thread = thread;
	ada_walk_close(&timeline->walk);
	timeline->empty = true;
	if (thread >= tui->session->threads.count)
		return;
	timeline->walk = (struct ada_walk){ .thread = &tui->session->threads.items[thread] };
	if (timeline->walk.thread->events)
		stand_at(tui, atf_thread_lower_bound(timeline->walk.thread->events, ns));
}

void ada_tui_timeline_go(struct ada_tui *tui, uint64_t position)
{
	ada_walk_reveal(&tui->timeline.walk, position);
	stand_at(tui, position);
	raise_top(tui, tui->timeline.height / 3); /* what came before is of interest, too */
}

/* --- drawing -------------------------------------------------------------------------------------------------------------- */

static const char *function_name(const struct ada_thread *thread, uint64_t id, char buffer[ADA_NAME_BUFFER])
{
	return ada_module_function(ada_process_module(thread->process, id), id, buffer);
}

static void duration_text(const struct ada_thread *thread, uint64_t position, char text[DURATION_TEXT])
{
	char duration[ADA_UNITS_TEXT];
	uint64_t end, duration_ns;
	enum ada_walk_end found = ada_walk_duration(thread, position, LOOK_EVENTS, &end, &duration_ns);

	if (found == ADA_WALK_UNKNOWN)
		strcpy(text, "-");
	else
		snprintf(text, DURATION_TEXT, "%s%s", found == ADA_WALK_FARTHER ? ">" : "",
			 ada_format_call_duration(duration_ns, found == ADA_WALK_GOES_ON, duration));
}

static void put_call(struct ada_tui *tui, struct ada_output *output, uint64_t position)
{
	const struct ada_thread *thread = shown_thread(tui);
	const struct ada_event event = *atf_thread_get(thread->events, position);
	char at[ADA_CLOCK_TEXT], duration[DURATION_TEXT], name[ADA_NAME_BUFFER];
	uint32_t depth = event.call_depth;

	ada_output_format(output, "%16s ", ada_clock_view_text(tui->session, event.timestamp_ns, at));
	if (event.event_kind == ADA_EVENT_LOST) {
		ada_output_format(output, "%12s  %llu events lost\n", "", (unsigned long long)event.function_id);
		return;
	}
	duration_text(thread, position, duration);
	ada_output_format(output, "%12s  ", duration);
	ada_output_spaces(output, 2 * (depth < INDENT_MAX ? depth : INDENT_MAX));
	if (depth >= INDENT_MAX)
		ada_output_format(output, "(%u) ", depth);
	ada_output_string(output, ada_walk_is_folded(&tui->timeline.walk, position) ? "+ " : "  ");
	ada_output_text(output, function_name(thread, event.function_id, name));
	ada_output_string(output, "\n");
}

static void put_title(const struct ada_tui *tui, int row)
{
	const struct ada_thread *thread = shown_thread(tui);
	char line[256];

	snprintf(line, sizeof line, "%s thread %u%s%s, %llu of %llu events   ( ) other threads", thread->process->directory, thread->number,
		 *thread->name ? " " : "", thread->name, (unsigned long long)tui->timeline.cursor, (unsigned long long)thread->count);
	ada_screen_put(row, ADA_INK_TITLE, line);
}

/* The cursor is brought onto the screen: at its last row, where it is further below. */
static void settle_top(struct ada_tui *tui)
{
	struct ada_tui_timeline *timeline = &tui->timeline;
	uint64_t row = timeline->top;
	int at = 0;

	if (timeline->cursor < timeline->top)
		timeline->top = timeline->cursor;
	for (row = timeline->top; row != timeline->cursor && at < timeline->height; at++) {
		row++;
		if (!ada_walk_at_or_behind(&timeline->walk, &row))
			break;
	}
	if (at < timeline->height && row == timeline->cursor)
		return;
	timeline->top = timeline->cursor;
	raise_top(tui, timeline->height - 1);
}

/* The rows that are on the screen now, and below them what the other threads did meanwhile. */
static void draw_lanes(const struct ada_tui *tui, uint64_t last, int row, int height)
{
	const struct ada_tui_timeline *timeline = &tui->timeline;
	struct ada_tui_lanes lanes = { .chosen = timeline->thread };

	lanes.from_ns = atf_thread_get(shown_thread(tui)->events, timeline->top)->timestamp_ns;
	lanes.at_ns = atf_thread_get(shown_thread(tui)->events, timeline->cursor)->timestamp_ns;
	lanes.to_ns = atf_thread_get(shown_thread(tui)->events, last)->timestamp_ns;
	ada_tui_lanes_draw(tui, &lanes, row, height);
}

int ada_tui_timeline_draw(struct ada_tui *tui, int row, int rows)
{
	struct ada_tui_timeline *timeline = &tui->timeline;
	int result, chosen = -1, count = 0, lanes = ada_tui_lanes_height(tui, rows), below = row + rows - lanes;
	uint64_t position, last = 0;

	timeline->height = rows - 1 - lanes;
	if (timeline->empty) {
		ada_screen_put(row, ADA_INK_PLAIN, "No call was recorded of this thread: ( and ) show others.");
		return 0;
	}
	settle_top(tui);
	put_title(tui, row++);
	result = ada_sheet_begin(&tui->sheet);
	if (result)
		return result;
	for (position = timeline->top; count < timeline->height && ada_walk_at_or_behind(&timeline->walk, &position); position++) {
		chosen = position == timeline->cursor ? count : chosen;
		put_call(tui, &tui->sheet.output, position);
		last = position;
		count++;
	}
	result = ada_sheet_end(&tui->sheet);
	for (int i = 0; i < count && !result; i++)
		ada_screen_put(row + i, i == chosen ? ADA_INK_CHOSEN : ADA_INK_PLAIN, ada_sheet_line(&tui->sheet, (uint64_t)i));
	if (lanes && !result)
		draw_lanes(tui, last, below, lanes);
	return result;
}

/* --- moving --------------------------------------------------------------------------------------------------------------- */

static void move_rows(struct ada_tui *tui, int64_t rows)
{
	struct ada_tui_timeline *timeline = &tui->timeline;

	for (; rows < 0 && ada_walk_before(&timeline->walk, &timeline->cursor); rows++)
		;
	for (; rows > 0; rows--) {
		uint64_t next = timeline->cursor + 1;

		if (!ada_walk_at_or_behind(&timeline->walk, &next))
			return;
		timeline->cursor = next;
	}
}

uint64_t ada_tui_open_call(const struct ada_thread *thread, uint64_t position)
{
	const struct ada_frame *frame = NULL;
	struct ada_lookback back;

	ada_lookback_open(&back, thread, position);
	if (!ada_lookback_get(&back, 0, &frame) && frame)
		position = frame->position;
	ada_lookback_close(&back);
	return position;
}

static void show_thread(struct ada_tui *tui, int by)
{
	size_t count = tui->session->threads.count;
	const struct ada_event *event = tui->timeline.empty ? NULL : atf_thread_get(shown_thread(tui)->events, tui->timeline.cursor);

	if (count)
		ada_tui_timeline_open(tui, (tui->timeline.thread + (by > 0 ? 1 : count - 1)) % count, event ? event->timestamp_ns : 0);
}

static int take_moment(void *context, const char *text, struct ada_error *error)
{
	struct ada_tui *tui = context;
	uint64_t ns;
	int result = ada_clock_view_parse(&tui->session->view, tui->session, text, &ns, error);

	if (!result && shown_thread(tui) && shown_thread(tui)->events)
		ada_tui_timeline_go(tui, atf_thread_lower_bound(shown_thread(tui)->events, ns));
	return result;
}

static void show_caller(struct ada_tui *tui)
{
	uint64_t caller = ada_tui_open_call(shown_thread(tui), tui->timeline.cursor);

	if (caller == tui->timeline.cursor)
		ada_error_set(&tui->message, ENOENT, "the thread's outermost call: its caller isn't recorded");
	tui->timeline.cursor = caller;
}

static void show_details(struct ada_tui *tui)
{
	const struct ada_event *event = atf_thread_get(shown_thread(tui)->events, tui->timeline.cursor);

	if (!event || event->event_kind != ADA_EVENT_CALL)
		ada_error_set(&tui->message, ENOENT, "no call in this row: d shows a call's details");
	else if (ada_tui_details(tui, shown_thread(tui), tui->timeline.cursor))
		ada_error_set(&tui->message, ENOMEM, "can't show the call's details");
}

bool ada_tui_timeline_key(struct ada_tui *tui, int key)
{
	struct ada_tui_timeline *timeline = &tui->timeline;
	struct ada_field field = {};
	int64_t page = timeline->height;

	switch (key) {
	case '(': show_thread(tui, -1); return true;
	case ')': show_thread(tui, 1); return true;
	case 't': ada_ask("go to (+1.5s)", &field, NULL, take_moment, tui); return true;
	}
	if (timeline->empty)
		return false;
	switch (key) {
	case 'k':
	case ADA_KEY_UP: move_rows(tui, -1); return true;
	case 'j':
	case ADA_KEY_DOWN: move_rows(tui, 1); return true;
	case ADA_KEY_CONTROL('B'):
	case ADA_KEY_PAGE_UP: move_rows(tui, -page); return true;
	case ADA_KEY_CONTROL('F'):
	case ADA_KEY_PAGE_DOWN: move_rows(tui, page); return true;
	case ADA_KEY_CONTROL('U'): move_rows(tui, -(page + 1) / 2); return true;
	case ADA_KEY_CONTROL('D'): move_rows(tui, (page + 1) / 2); return true;
	case 'g':
	case ADA_KEY_HOME: stand_at(tui, 0); return true;
	case 'G':
	case ADA_KEY_END:
		stand_at(tui, shown_thread(tui)->count);
		raise_top(tui, timeline->height - 1);
		return true;
	case 'p': show_caller(tui); return true;
	case 'd': show_details(tui); return true;
	case ADA_KEY_ENTER:
		if (ada_walk_fold(&timeline->walk, timeline->cursor))
			ada_error_set(&tui->message, ENOMEM, "can't fold this call");
		return true;
	}
	return false;
}

/* --- searching ------------------------------------------------------------------------------------------------------------ */

/* Whether a call of this function is looked for; each name is looked at once. */
static bool is_meant(struct ada_tui *tui, struct ada_table *known, const struct ada_event *event)
{
	char name[ADA_NAME_BUFFER];
	uint64_t meant;

	if (event->event_kind != ADA_EVENT_CALL)
		return false;
	if (ada_table_get(known, event->function_id, &meant))
		return meant;
	meant = strcasestr(function_name(shown_thread(tui), event->function_id, name), tui->search.text) != NULL;
	ada_table_put(known, event->function_id, meant);
	return meant;
}

static uint64_t find_behind(struct ada_tui *tui, struct ada_table *known)
{
	const struct ada_event *events;
	uint64_t count;

	for (uint64_t at = tui->timeline.cursor + 1; (events = atf_thread_run(shown_thread(tui)->events, at, &count)) && !ada_interrupted();
	     at += count) {
		count = count < FIND_EVENTS ? count : FIND_EVENTS;
		for (uint64_t i = 0; i < count; i++)
			if (is_meant(tui, known, &events[i]))
				return at + i;
	}
	return UINT64_MAX;
}

static uint64_t find_before(struct ada_tui *tui, struct ada_table *known)
{
	for (uint64_t at = tui->timeline.cursor; at-- > 0;) {
		const struct ada_event *event = atf_thread_get(shown_thread(tui)->events, at);

		if (event && is_meant(tui, known, event))
			return at;
		if (!(at % FIND_EVENTS) && ada_interrupted())
			break;
	}
	return UINT64_MAX;
}

bool ada_tui_timeline_find(struct ada_tui *tui, bool backwards)
{
	struct ada_table known = {};
	uint64_t found;

	if (tui->timeline.empty)
		return false;
	found = backwards ? find_before(tui, &known) : find_behind(tui, &known);
	ada_table_free(&known);
	if (found == UINT64_MAX)
		return false;
	ada_walk_reveal(&tui->timeline.walk, found);
	tui->timeline.cursor = found;
	return true;
}
