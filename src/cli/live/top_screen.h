/* `ada top` on a terminal: draws a session again and again, and does what the keys say. */
#ifndef ADA_CLI_LIVE_TOP_SCREEN_H
#define ADA_CLI_LIVE_TOP_SCREEN_H
#include "cli/live/board.h"
#include "cli/live/watch.h"

/* The watch has looked once, at `at_ns` (0: the last moment). Returns the exit status. */
int ada_top_screen(struct ada_watch *watch, enum ada_board_sort sort, uint64_t at_ns);
#endif
