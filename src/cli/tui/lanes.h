/* Below the calls of one thread: the threads around it, a line each, over the time that these calls take up. */
#ifndef ADA_CLI_TUI_LANES_H
#define ADA_CLI_TUI_LANES_H
#include "cli/tui/tui.h"

struct ada_tui_lanes {
	size_t chosen;		 /* number of a thread in the session */
	uint64_t from_ns, to_ns; /* what is shown above */
	uint64_t at_ns;		 /* the cursor's time */
};

/* How many of so many rows the lanes take; 0: there is no room, or no other thread. */
int ada_tui_lanes_height(const struct ada_tui *tui, int rows);
void ada_tui_lanes_draw(const struct ada_tui *tui, const struct ada_tui_lanes *lanes, int row, int height);
#endif
