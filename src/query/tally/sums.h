/* What the first events of a packed thread add up to, written beside them (its file `sums`, abi/totals.h): the statistics of a whole
 * recording then read these, and the events that came later, instead of all. */
#ifndef ADA_QUERY_SUMS_H
#define ADA_QUERY_SUMS_H
#include "query/session/session.h"

#define ADA_SUMS_LEAST (1u << 24) /* events of a thread: fewer are counted in a tenth of a second */

struct ada_sums_how {
	uint64_t least;		       /* threads of fewer events are left out */
	uint64_t piece_events;	       /* counted at a time; 0: as many as pay */
	uint64_t until_ns;	       /* of ada_clock_boottime_ns: what isn't counted by then is left out; 0: all is */
	struct ada_progress *progress; /* NULL: none */
};

/* Writes the sums of the session's packed threads, on top of those that there are, as far as this comes. Nobody else may change the session
 * meanwhile. 0 or an error; -EINTR soon after ada_interrupted(). What fails leaves the files as they were. */
int ada_sums_write(const struct ada_session *session, const struct ada_sums_how *how, struct ada_error *error);
/* Takes them away, of all threads. */
int ada_sums_remove(const struct ada_session *session, struct ada_error *error);
#endif
