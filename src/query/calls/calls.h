/* From events to calls: pairs each CALL of a thread with its RETURN or EXCEPTION.
 *
 * Feed the events of one thread in order. The open calls are a stack whose depths rise from its bottom to its top:
 *
 *   CALL at depth d         open calls at depth d and deeper have left without a word: they are set aside. Then pushed.
 *   RETURN, EXCEPTION       ends the open call of the same function and depth; those above it are set aside.
 *                           None on the stack: the newest one set aside. None there either: an orphan.
 *   LOST                    events are missing: what was set aside won't come back. Of the open calls, those go that the
 *                           next event shows to be gone. One whose end arrives may have been another call of the same
 *                           function by then: it is marked. The time of the gap is no one's own.
 *   RECORDER                the program waited for ada: so much less did all open calls last.
 *   end                     open calls are open (they last until the process ends, or until now), those set aside have no known end.
 *
 * Why aside: calls on another stack of the same thread (fibers, coroutines) end later than those around them; and where a
 * call site got no return stub, a call has no RETURN at all. At most 16,384 wait aside (a thousand suspended fibers),
 * then the older half makes room.
 */
#ifndef ADA_QUERY_CALLS_H
#define ADA_QUERY_CALLS_H
#include <stdbool.h>
#include <stdint.h>
#include "abi/record.h"
#include "base/array.h"

enum ada_outcome {
	ADA_OUTCOME_RETURN,
	ADA_OUTCOME_EXCEPTION,
	ADA_OUTCOME_OPEN,    /* still running when the process ends, or now: that is end_ns */
	ADA_OUTCOME_UNKNOWN, /* its end was not recorded: end_ns and children_ns mean nothing */
};

#define ADA_NO_FUNCTION UINT64_MAX

struct ada_call {
	uint64_t function_id;
	uint64_t caller_id; /* function of the open call that made this one; ADA_NO_FUNCTION: outermost */
	uint64_t start_ns, end_ns;
	uint64_t children_ns;  /* of the calls directly below, as far as known, and of gaps */
	uint64_t waited_ns;    /* for ada, between start and end: RECORDER events. No part of the call's duration */
	uint64_t losses;       /* losses of its thread when the call began */
	uint64_t position;     /* index_seq of the CALL */
	uint64_t end_position; /* of the RETURN or EXCEPTION */
	uint32_t depth;
	enum ada_outcome outcome;
	bool aside;	  /* was set aside */
	bool across_loss; /* events were lost while the call was open: its duration is a guess */
	void *user;	  /* the receiver's */
};

/* How long the call took the program up to `end_ns`. */
static inline uint64_t ada_call_duration_to(const struct ada_call *call, uint64_t end_ns)
{
	uint64_t all_ns = end_ns - call->start_ns;

	return all_ns > call->waited_ns ? all_ns - call->waited_ns : 0;
}

static inline uint64_t ada_call_duration(const struct ada_call *call)
{
	return ada_call_duration_to(call, call->end_ns);
}

static inline uint64_t ada_call_self(const struct ada_call *call)
{
	uint64_t duration_ns = ada_call_duration(call);

	return duration_ns > call->children_ns ? duration_ns - call->children_ns : 0;
}

/* What becomes of calls. Each may be NULL. */
struct ada_calls_receiver {
	void *context;
	void (*begun)(void *context, struct ada_call *call);
	void (*set_aside)(void *context, struct ada_call *call);
	void (*ended)(void *context, const struct ada_call *call);
};

struct ada_calls {
	struct ada_calls_receiver receiver;
	ADA_ARRAY(struct ada_call) stack;
	ADA_ARRAY(struct ada_call) aside;
	uint64_t last_ns;
	uint64_t before_loss_ns; /* time of the last event before the loss at hand */
	uint64_t lost, losses;	 /* events that LOST records stand for; how many such records */
	uint64_t orphans;	 /* RETURN or EXCEPTION without its call */
	bool after_loss;
};

void ada_calls_open(struct ada_calls *calls, const struct ada_calls_receiver *receiver);
/* 0 or -ENOMEM. Kinds that it doesn't know are skipped. */
int ada_calls_feed(struct ada_calls *calls, const struct ada_event *event, uint64_t position);
/* Reports what is left; ready for another thread. Open calls last until end_ns, or until the last event where that is later. */
void ada_calls_end(struct ada_calls *calls, uint64_t end_ns);
void ada_calls_close(struct ada_calls *calls);
#endif
