/* How deep this thread's descents are that rules of depth have marked: a rule of named functions marks a descent once, and the next one when
 * the marked call has ended (abi/rules.h). */
#include "agent/judge/parts.h"

#define DESCENTS 32 /* of one thread at once; where there are more, some are marked again */

static __thread struct descent {
	uint32_t slot, incarnation; /* of the rule */
	uint32_t thread;	    /* a fork's child may number its threads anew */
	uint32_t depth;		    /* of the marked call, plus 1; 0: free */
} descents[DESCENTS];
static __thread uint32_t next;

uint32_t *ada_descent_of(uint32_t slot, uint32_t incarnation, uint32_t thread)
{
	struct descent *free = NULL;

	for (uint32_t i = 0; i < DESCENTS; i++) {
		struct descent *at = &descents[i];

		if (at->slot == slot && at->incarnation == incarnation && at->thread == thread && at->depth)
			return &at->depth;
		if (!at->depth)
			free = at;
	}
	if (!free)
		free = &descents[next++ % DESCENTS];
	*free = (struct descent){ .slot = slot, .incarnation = incarnation, .thread = thread };
	return &free->depth;
}

void ada_descents_forget(void)
{
	memset(descents, 0, sizeof descents);
}
