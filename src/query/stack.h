/* Which calls are open on a thread at one of its events: read backwards from there, so that it costs as much as the oldest of
 * them is away and nothing before it. */
#ifndef ADA_QUERY_STACK_H
#define ADA_QUERY_STACK_H
#include "base/array.h"
#include "query/session.h"

struct ada_frame {
	uint64_t position;		/* of its CALL in the thread: index_seq */
	uint64_t function_id;
	uint64_t start_ns;
	uint32_t depth;
};
struct ada_stack { ADA_ARRAY(struct ada_frame) frames; };	/* outermost first */

/* The calls that are open right before the event at `position` (the thread's count: at its end). A CALL at that position is not
 * among them. 0 or -ENOMEM. The frames are the caller's to free with ada_stack_close. */
int ada_stack_at(struct ada_stack *stack, const struct ada_thread *thread, uint64_t position);
void ada_stack_reverse(struct ada_stack *stack);
void ada_stack_close(struct ada_stack *stack);
#endif
