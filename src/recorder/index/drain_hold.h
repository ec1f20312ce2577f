/* What a drain does while its disk is in trouble (trouble.h): chunks stay where they are, and the program records into the rest of the pool.
 * Once a thread drops events, or waits for a chunk, the pool holds no more: recording stops, so that what there is stays without holes and
 * nobody waits for a disk. What lies in the pool is still written, should the disk recover before the end.
 * Where --disk-limit is reached chunks stay likewise, until segments have gone; who drops events meanwhile goes on.
 */
#ifndef ADA_RECORDER_DRAIN_HOLD_H
#define ADA_RECORDER_DRAIN_HOLD_H
#include "recorder/index/drain.h"

/* Asked before anything is taken out of the pool; true: not now. Stops the recording where the pool is used up. */
bool ada_drain_holds(struct ada_drain *drain);
/* Whether that failure of a lane is one to wait for. */
bool ada_drain_later(const struct ada_drain *drain, int status);
#endif
