/* What happened, as sentences that each name the events that they rest on. The same recording gives the same sentences,
 * whatever the number of workers.
 *
 * Sections: the session; each process; each crash whose window was not kept; each window, or a group of windows of like triggers (of many
 * windows of one kind, the first few have a section of their own). What is usual (percentiles, callers) comes from the whole recording,
 * whatever is selected. */
#ifndef ADA_QUERY_NARRATE_H
#define ADA_QUERY_NARRATE_H
#include "query/tell/narrative.h"

/* `options` may be NULL. The selection's session must stay open as long as the narrative. */
int ada_narrate(struct ada_narrative *narrative, const struct ada_selection *selection, const struct ada_narrate_options *options,
		struct ada_error *error);
void ada_narrative_free(struct ada_narrative *narrative);
#endif
