/* The windows, as `ada windows` lists them. */
#include <errno.h>
#include <string.h>
#include "cli/screen/keys.h"
#include "cli/screen/screen.h"
#include "cli/show/windows_table.h"
#include "cli/tui/tui.h"
#include "query/session/windows.h"

static int list_windows(struct ada_tui *tui)
{
	int result = ada_sheet_begin(&tui->windows.sheet);

	if (!result)
		result = ada_windows_table(&tui->windows.sheet.output, tui->session) ?: ada_sheet_end(&tui->windows.sheet);
	return result;
}

int ada_tui_windows_draw(struct ada_tui *tui, int row, int rows)
{
	struct ada_tui_windows *windows = &tui->windows;
	uint64_t count = tui->session->windows.count;
	int result = windows->sheet.fd ? 0 : list_windows(tui);

	if (result)
		return result;
	ada_screen_put(row++, count ? ADA_INK_TITLE : ADA_INK_PLAIN, ada_sheet_line(&windows->sheet, 0));
	ada_pane_fit(&windows->pane, count, (uint64_t)rows - 1);
	for (uint64_t i = windows->pane.top; i < count && i - windows->pane.top < windows->pane.height; i++)
		ada_screen_put(row++, i == windows->pane.cursor ? ADA_INK_CHOSEN : ADA_INK_PLAIN, ada_sheet_line(&windows->sheet, i + 1));
	return 0;
}

/* What was marked is a call, though the mark may name its return. */
static uint64_t marked_call(const struct ada_thread *thread, uint64_t position)
{
	const struct ada_event *event = atf_thread_get(thread->events, position);

	return event && event->event_kind != ADA_EVENT_CALL ? ada_tui_open_call(thread, position) : position;
}

/* To what was marked first or, where that isn't said, to where the window begins. */
static void go_to_window(struct ada_tui *tui, const struct ada_recorded_window *window)
{
	const json_object *marks = ada_json_get(window->entry, "marks");
	const struct ada_thread *thread = NULL;
	uint64_t position;

	for (size_t i = 0; i < ada_json_length(marks) && !thread; i++)
		if (ada_mark_event(window->process, json_object_array_get_idx(marks, i), &thread, &position)) {
			ada_tui_timeline_open(tui, (size_t)(thread - tui->session->threads.items), window->start_ns);
			ada_tui_timeline_go(tui, marked_call(thread, position));
		} else {
			thread = NULL;
		}
	if (!thread)
		ada_tui_timeline_open(tui, window->process->first_thread, window->start_ns);
	tui->tab = ADA_TUI_TIMELINE;
}

bool ada_tui_windows_key(struct ada_tui *tui, int key)
{
	uint64_t cursor = tui->windows.pane.cursor;

	if (key != ADA_KEY_ENTER)
		return ada_pane_key(&tui->windows.pane, key);
	if (cursor < tui->session->windows.count)
		go_to_window(tui, &tui->session->windows.items[cursor]);
	return true;
}

static bool window_holds(struct ada_tui *tui, uint64_t row)
{
	return strcasestr(ada_sheet_line(&tui->windows.sheet, row + 1), tui->search.text);
}

bool ada_tui_windows_find(struct ada_tui *tui, bool backwards)
{
	return ada_tui_find_row(&tui->windows.pane, backwards, window_holds, tui);
}
