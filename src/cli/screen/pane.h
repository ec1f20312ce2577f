/* A list of which the screen shows a part: which row is chosen, and which one is on top. No drawing. */
#ifndef ADA_CLI_SCREEN_PANE_H
#define ADA_CLI_SCREEN_PANE_H
#include <stdbool.h>
#include <stdint.h>

struct ada_pane {
	uint64_t count, cursor, top;
	uint64_t height; /* rows on the screen */
};

/* After either changed: the cursor stays in the list, and on the screen. */
void ada_pane_fit(struct ada_pane *pane, uint64_t count, uint64_t height);
void ada_pane_move(struct ada_pane *pane, uint64_t cursor);
/* The keys of less and vi: arrows, j k, PageUp PageDown, ^F ^B ^D ^U, g G, Home End. False: the key is none of them. */
bool ada_pane_key(struct ada_pane *pane, int key);
#endif
