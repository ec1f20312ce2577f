/* Reads a thread's events in order, in stretches that lie side by side in memory: only the last stretch stays mapped, however long the
 * thread is.
 *
 * 	struct ada_stretch stretch = { .thread = thread, .next = from, .to = to };
 *
 * 	while (ada_stretch_next(&stretch))
 * 		for (uint64_t i = 0; i < stretch.count; i++)
 * 			use(&stretch.events[i], stretch.position + i);
 */
#ifndef ADA_QUERY_STRETCH_H
#define ADA_QUERY_STRETCH_H
#include "query/session/session.h"

#define ADA_STRETCH_EVENTS (1u << 15) /* at most: 1 MiB */

struct ada_stretch {
	const struct ada_thread *thread;
	uint64_t next, to;		/* positions of what is not read yet */
	const struct ada_event *events; /* valid until the next stretch is asked for */
	uint64_t position, count;
};

/* False: there is no further stretch. A caller that ends earlier leaves a stretch mapped. */
bool ada_stretch_next(struct ada_stretch *stretch);
/* Backwards: the events [*from, to) that lie side by side, of those from *from on; to > *from. Valid until events are asked for anew. */
const struct ada_event *ada_stretch_before(const struct ada_thread *thread, uint64_t to, uint64_t *from);
#endif
