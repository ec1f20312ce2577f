/* How far down the calls of a thread's events reach, and on which objects they work, by blocks of events: whoever reads back for an outer call,
 * or for an object, passes over those that don't matter. Known once a block was read, and kept with the thread: the same question again, or one close by, reads none of it. */
#ifndef ADA_QUERY_FLOORS_H
#define ADA_QUERY_FLOORS_H
#include "query/session/session.h"

/* All events from the returned position up to `position` have a depth of `bound` at least; no lower than `from`. What isn't known yet is
 * read, by all CPUs. Blocks are passed over whole: `position` lies at a multiple of ADA_FLOOR_EVENTS, else it comes back. */
uint64_t ada_floors_skip(const struct ada_thread *thread, uint64_t position, uint64_t from, uint32_t bound);
/* Likewise: none of the events passed over is an OBJECT of this object. Packed blocks without such events are passed over wherever `position`
 * lies, and none of them is read. Unless it `learns`, nothing is. */
uint64_t ada_floors_skip_without(const struct ada_thread *thread, uint64_t position, uint64_t from, uint64_t object, bool learns);
#endif
