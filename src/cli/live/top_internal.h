/* Inside `ada top` on a terminal: what is drawn (top_screen.c), and what keys do (top_keys.c). */
#ifndef ADA_CLI_LIVE_TOP_INTERNAL_H
#define ADA_CLI_LIVE_TOP_INTERNAL_H
#include "cli/live/errand.h"
#include "cli/live/player.h"
#include "cli/live/top_screen.h"
#include "cli/live/trend.h"
#include "cli/screen/pane.h"
#include "cli/screen/sheet.h"

struct ada_top {
	struct ada_watch *watch;
	struct ada_player player;
	struct ada_board board;
	struct ada_trend trend;
	struct ada_pane functions, threads;
	uint64_t chosen; /* identity of the function under the cursor */
	bool in_threads; /* the keys move there */
	struct ada_sheet sheet;
	struct ada_errand *errand; /* what the recorder was asked to do and hasn't answered yet */
	struct ada_error message;  /* at the foot, until the next key */
	bool good;		   /* it isn't about a failure */
	uint64_t trend_at_ns, turned_ns;
	int status; /* to exit with; < 0: goes on */
};

/* Of top_screen.c. */
void ada_top_look(struct ada_top *top);
int ada_top_arrange(struct ada_top *top); /* sorts and filters anew; the cursor stays on its function */

/* Of top_keys.c. */
void ada_top_press(struct ada_top *top, int key);
void ada_top_hear(struct ada_top *top); /* what the recorder has answered meanwhile */
#endif
