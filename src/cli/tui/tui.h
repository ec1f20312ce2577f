/* `ada tui`: four tabs over one session. Each tab draws what is on the screen, and reads no more; the sums for graph and report are
 * counted beside it, once. */
#ifndef ADA_CLI_TUI_TUI_H
#define ADA_CLI_TUI_TUI_H
#include <pthread.h>
#include <stdatomic.h>
#include "cli/screen/field.h"
#include "cli/screen/pane.h"
#include "cli/screen/sheet.h"
#include "cli/tui/walk.h"
#include "query/tally/stats.h"
#include "query/sums/tree.h"

/* What the session adds up to, counted by a thread of its own. */
struct ada_tui_sums {
	pthread_t thread;
	bool started;
	atomic_int counted; /* 1: the tree; 2: the functions, too; < 0: -errno, and why: */
	struct ada_error error;
	struct ada_tree tree;
	struct ada_stats stats;
};

struct ada_tui_graph {
	struct ada_pane pane;
	ADA_ARRAY(uint32_t) rows; /* nodes that are seen */
	bool *folded;		  /* by node */
	uint64_t *weights, run_ns;
};
struct ada_tui_report {
	struct ada_pane pane;
	unsigned int sort; /* number in its table */
	ADA_ARRAY(struct ada_function_stats *) rows;
};
struct ada_tui_timeline {
	struct ada_walk walk;
	size_t thread;	      /* number in the session */
	uint64_t cursor, top; /* positions of rows */
	bool empty;	      /* no row */
	int height;
};
struct ada_tui_windows {
	struct ada_pane pane;
	struct ada_sheet sheet; /* all of them */
};

enum ada_tui_tab { ADA_TUI_GRAPH, ADA_TUI_REPORT, ADA_TUI_TIMELINE, ADA_TUI_WINDOWS, ADA_TUI_TABS };

struct ada_tui {
	struct ada_session *session;
	struct ada_selection selection;
	struct ada_tui_sums sums;
	enum ada_tui_tab tab;
	struct ada_tui_graph graph;
	struct ada_tui_report report;
	struct ada_tui_timeline timeline;
	struct ada_tui_windows windows;
	struct ada_sheet sheet; /* of what is being drawn */
	struct ada_field search;
	struct ada_error message; /* at the foot, until the next key */
	int status;		  /* to exit with; < 0: goes on */
};

/* Of each tab. `find` moves to the next row that holds tui->search, or the one before; false: there is none. `key`: false: it means
 * nothing here. Drawing: 0 or -errno. */
int ada_tui_graph_draw(struct ada_tui *tui, int row, int rows);
bool ada_tui_graph_key(struct ada_tui *tui, int key);
bool ada_tui_graph_find(struct ada_tui *tui, bool backwards);
bool ada_tui_graph_show(struct ada_tui *tui, uint64_t key); /* moves to the first node of the function; false: there is none */
void ada_tui_graph_close(struct ada_tui *tui);

int ada_tui_report_draw(struct ada_tui *tui, int row, int rows);
bool ada_tui_report_key(struct ada_tui *tui, int key);
bool ada_tui_report_find(struct ada_tui *tui, bool backwards);
void ada_tui_report_close(struct ada_tui *tui);

void ada_tui_timeline_open(struct ada_tui *tui, size_t thread, uint64_t ns);
void ada_tui_timeline_go(struct ada_tui *tui, uint64_t position); /* to the row there, unfolded */
/* The call in which the event lies: of a call its caller, of a return its call. `position` itself where there is none. */
uint64_t ada_tui_open_call(const struct ada_thread *thread, uint64_t position);
int ada_tui_timeline_draw(struct ada_tui *tui, int row, int rows);
bool ada_tui_timeline_key(struct ada_tui *tui, int key);
bool ada_tui_timeline_find(struct ada_tui *tui, bool backwards);

int ada_tui_windows_draw(struct ada_tui *tui, int row, int rows);
bool ada_tui_windows_key(struct ada_tui *tui, int key);
bool ada_tui_windows_find(struct ada_tui *tui, bool backwards);

/* All that is known of the call whose event is at `position`, over the whole screen. */
int ada_tui_details(struct ada_tui *tui, const struct ada_thread *thread, uint64_t position);

/* Draws rows of the sheet below its first line, and the cursor's. */
void ada_tui_put_sheet(const struct ada_tui *tui, const struct ada_pane *pane, int row);
/* Moves the pane to the next row of which `holds` says so. */
bool ada_tui_find_row(struct ada_pane *pane, bool backwards, bool (*holds)(struct ada_tui *tui, uint64_t row), struct ada_tui *tui);
#endif
