/* ada tui: the call tree, the functions, a thread's calls and the windows, by keys. */
#include "cli/tui/tui.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/fault.h"
#include "base/interrupt.h"
#include "cli/ground/answer.h"
#include "cli/screen/ask.h"
#include "cli/screen/keys.h"
#include "cli/screen/reader.h"
#include "cli/screen/screen.h"
#include "cli/tui/commands.h"

#define WAIT_MS 1000
#define COUNTING_MS 50 /* while the sums are counted */

static const struct {
	const char *name;
	int (*draw)(struct ada_tui *tui, int row, int rows);
	bool (*key)(struct ada_tui *tui, int key);
	bool (*find)(struct ada_tui *tui, bool backwards);
	int counted; /* what of the sums it needs */
} tabs[ADA_TUI_TABS] = {
	[ADA_TUI_GRAPH] = { "graph", ada_tui_graph_draw, ada_tui_graph_key, ada_tui_graph_find, 1 },
	[ADA_TUI_REPORT] = { "report", ada_tui_report_draw, ada_tui_report_key, ada_tui_report_find, 2 },
	[ADA_TUI_TIMELINE] = { "timeline", ada_tui_timeline_draw, ada_tui_timeline_key, ada_tui_timeline_find, 0 },
	[ADA_TUI_WINDOWS] = { "windows", ada_tui_windows_draw, ada_tui_windows_key, ada_tui_windows_find, 0 },
};

static const struct ada_key_help keys[] = {
	{ "Everywhere", NULL },
	{ "Tab, 1 2 3 4", "the next tab; graph, report, timeline, windows" },
	{ "arrows, j k, PageUp PageDown, Space, g G", "move" },
	{ "/, n N", "search a function's name; the next, the one before" },
	{ "h ?, q", "this help; quit" },
	{ "Graph", NULL },
	{ "Enter", "fold and unfold" },
	{ "p, c", "to the caller; who else calls this function" },
	{ "Report", NULL },
	{ "s", "sort by the next field: total, self, calls, mean, p99, max, function" },
	{ "columns", "those that the terminal has no room for are left out" },
	{ "Enter, c", "the function in the graph; who calls it" },
	{ "Timeline", NULL },
	{ "Enter", "fold and unfold what the call calls" },
	{ "p, d", "to the caller; all that is known of the call: arguments, cause" },
	{ "( ), t", "the thread before, the next one; go to a time" },
	{ "lanes", "below: what each thread was in meanwhile; | begins a call, . is outside every call, ? in one that began far back; v"
		   " is the chosen call's time" },
	{ "Windows", NULL },
	{ "Enter", "the timeline at what was marked" },
	{ NULL, NULL },
};

/* --- sums ----------------------------------------------------------------------------------------------------------------- */

static void *count_sums(void *context)
{
	struct ada_tui *tui = context;
	struct ada_tui_sums *sums = &tui->sums;
	int result = ada_tree_compute(&sums->tree, &tui->selection, &(struct ada_tree_how){}, 0, &sums->error);

	if (!result) {
		atomic_store(&sums->counted, 1);
		result = ada_stats_compute(&sums->stats, &tui->selection, 0, &sums->error);
	}
	atomic_store(&sums->counted, result ? result : 2);
	return NULL;
}

static void start_sums(struct ada_tui *tui)
{
	tui->sums.started = !pthread_create(&tui->sums.thread, NULL, count_sums, tui);
	if (!tui->sums.started)
		count_sums(tui);
}

static void end_sums(struct ada_tui *tui)
{
	if (tui->sums.started) {
		ada_interrupt_after(1); /* whoever leaves doesn't wait for them */
		pthread_join(tui->sums.thread, NULL);
		ada_interrupt_after(0);
	}
	ada_tree_free(&tui->sums.tree);
	ada_stats_free(&tui->sums.stats);
}

static bool has_counted(const struct ada_tui *tui)
{
	return atomic_load(&tui->sums.counted) >= tabs[tui->tab].counted;
}

/* --- what tabs share ------------------------------------------------------------------------------------------------------ */

void ada_tui_put_sheet(const struct ada_tui *tui, const struct ada_pane *pane, int row)
{
	ada_screen_put(row++, ADA_INK_TITLE, ada_sheet_line(&tui->sheet, 0));
	for (uint64_t i = 1; i < tui->sheet.lines.count; i++)
		ada_screen_put(row++, pane->top + i - 1 == pane->cursor ? ADA_INK_CHOSEN : ADA_INK_PLAIN, ada_sheet_line(&tui->sheet, i));
}

bool ada_tui_find_row(struct ada_pane *pane, bool backwards, bool (*holds)(struct ada_tui *tui, uint64_t row), struct ada_tui *tui)
{
	for (uint64_t i = 1; i <= pane->count; i++) {
		uint64_t row = (backwards ? pane->cursor + pane->count - i : pane->cursor + i) % pane->count;

		if (holds(tui, row)) {
			ada_pane_move(pane, row);
			return true;
		}
	}
	return false;
}

/* --- the screen ----------------------------------------------------------------------------------------------------------- */

static void draw_tabs(const struct ada_tui *tui)
{
	const char *path = tui->session->path, *slash = strrchr(path, '/');
	int column = 0;

	for (int i = 0; i < ADA_TUI_TABS; i++) {
		char text[32];

		snprintf(text, sizeof text, " %d %s ", i + 1, tabs[i].name);
		ada_screen_put_at(0, column, i == (int)tui->tab ? ADA_INK_CHOSEN : ADA_INK_PLAIN, text);
		column += (int)strlen(text);
	}
	ada_screen_put_at(0, column + 2, ADA_INK_STRONG, slash && slash[1] ? slash + 1 : path);
}

static void draw_tui(struct ada_tui *tui)
{
	int rows = ada_screen_rows(), counted = atomic_load(&tui->sums.counted), result = 0;

	ada_screen_clear();
	draw_tabs(tui);
	if (has_counted(tui))
		result = tabs[tui->tab].draw(tui, 1, rows > 4 ? rows - 2 : 2);
	else
		ada_screen_put(1, counted < 0 ? ADA_INK_BAD : ADA_INK_FAINT, counted < 0 ? tui->sums.error.text : "counting calls ...");
	if (result)
		ada_error_set(&tui->message, -result, "can't draw: %s", strerror(-result));
	if (*tui->message.text)
		ada_screen_put(rows - 1, ADA_INK_BAD, tui->message.text);
	else
		ada_screen_hints("h help  q quit  Tab next tab  / search  n N  Enter fold  p caller  c callers  d details");
}

static void find_next(struct ada_tui *tui, bool backwards)
{
	if (tui->search.length && !tabs[tui->tab].find(tui, backwards))
		ada_error_set(&tui->message, ENOENT, "not found: %s", tui->search.text);
}

static int take_search(void *context, const char *text, struct ada_error *error)
{
	find_next(context, false);
	return 0;
}

static void press(struct ada_tui *tui, int key)
{
	tui->message = (struct ada_error){};
	switch (key) {
	case 'q': tui->status = 0; return;
	case 'h':
	case '?': ada_read_keys("Keys of ada tui", keys); return;
	case ADA_KEY_TAB: tui->tab = (tui->tab + 1) % ADA_TUI_TABS; return;
	case ADA_KEY_BACK_TAB: tui->tab = (tui->tab + ADA_TUI_TABS - 1) % ADA_TUI_TABS; return;
	}
	if (key >= '1' && key < '1' + ADA_TUI_TABS)
		tui->tab = (enum ada_tui_tab)(key - '1');
	else if (!has_counted(tui))
		return;
	else if (key == '/')
		ada_ask("search", &tui->search, NULL, take_search, tui);
	else if (key == 'n' || key == 'N')
		find_next(tui, key == 'N');
	else
		tabs[tui->tab].key(tui, key == ' ' ? ADA_KEY_PAGE_DOWN : key);
}

static int show_tui(struct ada_tui *tui)
{
	int counted;

	while (tui->status < 0) {
		int key;

		counted = atomic_load(&tui->sums.counted);
		draw_tui(tui);
		key = ada_screen_key(counted < 0 || counted >= 2 ? WAIT_MS : COUNTING_MS);
		if (key == ADA_KEY_OVER)
			tui->status = ada_interrupted() ? ada_interrupt_status() : 0;
		else if (key != ADA_KEY_NONE)
			press(tui, key);
	}
	return tui->status;
}

static const struct ada_usage usage = {
	"[SESSION]",
	"Walks a recording in the terminal: the call tree, the functions, the calls of each thread in the order of time, the windows."
	"\v`h` names the keys: those of less and vi, and Enter, which folds and unfolds.",
};

int ada_cmd_tui(int argc, char **argv)
{
	struct ada_options options = {};
	struct ada_tui tui = { .status = -1 };
	struct ada_error error = {};
	int status;

	ada_options_take(&options, &usage, argc, argv);
	if (!ada_screen_possible())
		ada_options_fail(argv[0], "needs a terminal: `ada graph`, `ada report` and `ada dump` print the same");
	status = ada_answer_open(argv[0], &options, &tui.session);
	if (status)
		return status;
	if (ada_answer_select(&tui.selection, tui.session, &options, &error) ||
	    ada_screen_open("use `ada graph`, `ada report` and `ada dump`", &error)) {
		status = ada_answer_fail(argv[0], &error);
	} else {
		ada_tui_timeline_open(&tui, 0, 0);
		start_sums(&tui);
		status = show_tui(&tui);
		ada_screen_close();
		if (!status)
			status = ada_answer_fault(argv[0], tui.session);
	}
	end_sums(&tui);
	ada_tui_graph_close(&tui);
	ada_tui_report_close(&tui);
	ada_walk_close(&tui.timeline.walk);
	ada_sheet_close(&tui.windows.sheet);
	ada_sheet_close(&tui.sheet);
	ada_selection_close(&tui.selection);
	ada_session_close(tui.session);
	return status;
}
