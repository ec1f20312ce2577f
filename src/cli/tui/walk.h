/* The calls of a thread as rows, of which some are folded. Rows are found by reading on from where one is: a thread of any length costs
 * what is on the screen.
 *
 * A row is an event that begins a call, or says that events were lost. A folded call hides the rows up to its end. */
#ifndef ADA_CLI_TUI_WALK_H
#define ADA_CLI_TUI_WALK_H
#include "base/array.h"
#include "query/session/session.h"

struct ada_fold {
	uint64_t begin, end; /* of the call: rows between are hidden */
};
struct ada_walk {
	const struct ada_thread *thread;
	ADA_ARRAY(struct ada_fold) folds; /* by begin */
};

/* The first row at or behind *position, or the last one before it. False: there is none, and *position stays. */
bool ada_walk_at_or_behind(const struct ada_walk *walk, uint64_t *position);
bool ada_walk_before(const struct ada_walk *walk, uint64_t *position);
bool ada_walk_is_folded(const struct ada_walk *walk, uint64_t position);
/* Folds the call at this row, or unfolds it. 0, -ENOMEM, or -EINTR once ada_interrupted(): its end is looked for. */
int ada_walk_fold(struct ada_walk *walk, uint64_t position);
void ada_walk_reveal(struct ada_walk *walk, uint64_t position); /* unfolds what hides the row */
void ada_walk_close(struct ada_walk *walk);

/* Where the call at `position` ends, looked for among the next `limit` events. */
enum ada_walk_end { ADA_WALK_ENDS, ADA_WALK_GOES_ON, ADA_WALK_UNKNOWN, ADA_WALK_FARTHER };
/* ENDS: *end is its RETURN or EXCEPTION; GOES_ON: it is open where the thread's events end, and has been up to the process's end, or now; UNKNOWN: it was left without a word before
 * *end; FARTHER: no end among those events, of which *end is the first that was not looked at.
 * *duration_ns: how long the call took the program up to *end, without what it waited for ada. */
enum ada_walk_end ada_walk_duration(const struct ada_thread *thread, uint64_t position, uint64_t limit, uint64_t *end,
				    uint64_t *duration_ns);
#endif
