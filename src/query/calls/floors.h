/* How far down the calls of a thread's events reach, by blocks of events: whoever reads back for an outer call passes over those that
 * reach not so far. Known once a block was read, and kept with the thread: the same question again, or one close by, reads none of it. */
#ifndef ADA_QUERY_FLOORS_H
#define ADA_QUERY_FLOORS_H
#include "query/session/session.h"

/* All events from the returned position up to `position` have a depth of `bound` at least; no lower than `from`. What isn't known yet is
 * read, by all CPUs. Blocks are passed over whole: `position` lies at a multiple of ADA_FLOOR_EVENTS, else it comes back. */
uint64_t ada_floors_skip(const struct ada_thread *thread, uint64_t position, uint64_t from, uint32_t bound);
#endif
