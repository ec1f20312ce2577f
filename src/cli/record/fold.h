/* What a thread's first segments add up to, into its file `totals` (abi/totals.h). */
#ifndef ADA_CLI_FOLD_H
#define ADA_CLI_FOLD_H
#include "query/session/session.h"
#include "recorder/bound/bound.h"

/* Of the segments before `border` that are there: on top of what the totals have already, whole and on the disk before the old ones go.
 * `directory` is the thread's; `folded` may be NULL. 0 or an error. */
int ada_fold_thread(const struct ada_thread *thread, const char *directory, uint32_t border, struct ada_folded *folded,
		    struct ada_error *error);
ada_fold ada_fold_closed; /* the same while the thread is recorded: those segments are closed */
#endif
