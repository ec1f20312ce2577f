/* Which calls are open on a thread at one of its events: reads backwards from there, no further than to the oldest of these calls. The
 * answer is that of calls.h, which reads from the thread's beginning.
 *
 * Going back, an end at depth d says that no call of depth d or deeper is open behind it, if that end ended a call. It did if the next
 * event, going back, at depth d or less is the CALL of its function at depth d. Otherwise the thread runs several stacks, or its
 * recording begins in the middle; then the calls are followed forwards, from the nearest outermost call on. */
#ifndef ADA_QUERY_STACK_H
#define ADA_QUERY_STACK_H
#include "abi/totals.h"
#include "base/array.h"
#include "query/calls/calls.h"
#include "query/session/session.h"

struct ada_frame {
	uint64_t position; /* of its CALL in the thread: index_seq */
	uint64_t function_id;
	uint64_t start_ns;
	uint32_t depth;
};
struct ada_stack {
	ADA_ARRAY(struct ada_frame) frames; /* outermost first */
	bool after_loss;		    /* events were lost right before: as in ada_calls */
};

/* The calls that are open right before the event at `position` (the thread's count: at its end). A CALL at that position is not among
 * them, nor are calls that it shows to have left. 0 or -ENOMEM. The caller frees the frames with ada_stack_close. */
int ada_stack_at(struct ada_stack *stack, const struct ada_thread *thread, uint64_t position);
/* The same at the thread's end, of calls of *depth and deeper alone: those that are found without reading far back. *depth 0: all are. */
int ada_stack_at_end(struct ada_stack *stack, const struct ada_thread *thread, uint32_t *depth);
/* The same where the event's block says which calls are open at its beginning, which costs no more than to read that block. -EINVAL: it
 * doesn't. */
int ada_stack_packed(struct ada_stack *stack, const struct ada_thread *thread, uint64_t position);
/* One event further: what is open behind it. 0 or -ENOMEM. */
int ada_stack_feed(struct ada_stack *stack, const struct ada_event *event, uint64_t position);
/* Removes the calls that a call at this depth shows to have left. */
void ada_stack_leave(struct ada_stack *stack, uint32_t depth);
/* Tells `calls`, which has no open call yet, that these are open. The receiver hears of each. 0 or -ENOMEM. */
int ada_stack_seed(const struct ada_stack *stack, struct ada_calls *calls);
void ada_stack_close(struct ada_stack *stack);
/* The line of the frame's code that called the next frame, by that call's detail. False: not known; nor is it of the innermost frame. */
struct ada_debug_line;
bool ada_stack_line(const struct ada_stack *stack, const struct ada_thread *thread, size_t frame, struct ada_debug_line *line);

/* The same from the innermost call outwards, read back only as far as anyone asks. */
struct ada_lookback {
	const struct ada_thread *thread;
	uint64_t at;	      /* what is open right before this event */
	uint64_t position;    /* read back to there */
	uint64_t function_id; /* of the end that waits for its call */
	uint32_t limit;	      /* no call that deep is open any more */
	uint64_t floor;	      /* no event before it is read; set it behind open. 0: as far as needed */
	uint64_t begin;	      /* nor before this one: what comes before has gone (atf_thread_begin) */
	bool waits, complete, after_loss;
	bool gave_up;			    /* at the floor: there may be more calls than `frames` */
	bool doubtful;			    /* then: and those of `frames` may not be open, for an end may have ended none of them */
	ADA_ARRAY(struct ada_frame) frames; /* innermost first */
};

void ada_lookback_open(struct ada_lookback *back, const struct ada_thread *thread, uint64_t position);
/* The call `number` (0: innermost), or NULL in *frame; good until the next question. 0 or -ENOMEM. */
int ada_lookback_get(struct ada_lookback *back, size_t number, const struct ada_frame **frame);
void ada_lookback_close(struct ada_lookback *back);

/* Takes `calls`, which has read nothing yet, to where the segments ended that have gone: to the calls that are open there, and those set
 * aside. `totals`: atf_thread_totals; NULL: none have. 0 or -ENOMEM. */
int ada_calls_resume(struct ada_calls *calls, const AtfTotalsHeader *totals);
#endif
