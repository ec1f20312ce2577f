/* Which functions' sums a budget has cut (`ada trace --budget`): a function's own, while its hook was out, and those of its callers, whose
 * own time its calls then are. Its callers are those that were seen while its hook was in: of the whole recording, by any thread. */
#ifndef ADA_QUERY_MUTED_H
#define ADA_QUERY_MUTED_H
#include "query/tally/stats.h"

#define ADA_MUTED_CALLS 1u	 /* not all of its calls were recorded */
#define ADA_MUTED_SELF 2u	 /* its self time may hold that of functions that were muted */
#define ADA_MUTED_UNCONTENDED 4u /* CALLS, too: of a mutex's function; what had to wait is there */

/* Marks the functions, and adds those that were muted and of which no call is left: with 0 calls. Reads the recording once more where any
 * was muted in the selection's time. */
int ada_stats_mark_muted(struct ada_stats *stats, const struct ada_selection *selection, struct ada_error *error);
/* "calls" or "uncontended", "self", or one of those and "self"; NULL for 0. */
const char *ada_muted_text(unsigned int muted);
#endif
