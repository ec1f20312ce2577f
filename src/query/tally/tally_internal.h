/* What tally.c, tally_pieces.c, tally_quick.c and tally_packed.c share. */
#ifndef ADA_QUERY_TALLY_INTERNAL_H
#define ADA_QUERY_TALLY_INTERNAL_H
#include <errno.h>
#include "query/tally/tally.h"

/* Counts events of [position, position + count), all of them before tally->to or none, up to the first that is not quick; returns how
 * many. Calls deeper than `floor` may begin where none is open; the time of those that ended is added to *children_ns. */
uint64_t ada_tally_quick(struct ada_tally *tally, int64_t floor, const struct ada_event *events, uint64_t count, uint64_t position,
			 uint64_t *children_ns);

/* How events are counted: in order, or as those of a piece. */
struct ada_tally_way {
	struct ada_tally *tally;
	uint64_t children_ns; /* since the last seam, of calls that have no caller in the piece */
	int64_t floor;	      /* calls without caller in the piece are deeper, since the last seam; INT64_MAX: none yet. In order: -1 */
	/* Counts one event. False: the piece doesn't know enough for it, and ends here. */
	bool (*take)(struct ada_tally_way *way, const struct ada_event *event, uint64_t position);
};
/* Counts the packed block that begins at `position`, without making events of what is plain in it. False: none begins there that ends at
 * `to` or before. Else *count are its events, and *done those that it counted, fewer where the way refused one. -EBADMSG in
 * tally->result: the block contradicts itself, and what it was counted for is wrong. */
bool ada_tally_packed(struct ada_tally_way *way, uint64_t position, uint64_t to, uint64_t *count, uint64_t *done);
void ada_tally_packed_close(struct ada_tally *tally);

/* At most a block of events from `position` on that lie side by side. */
const struct ada_event *ada_tally_next(const struct ada_tally *tally, uint64_t position, uint64_t to, uint64_t *count);
/* Between two blocks: [from, to) is done. */
void ada_tally_leave(struct ada_tally *tally, uint64_t from, uint64_t to);
/* Counts one event as ada_calls_feed has it. 0 or -ENOMEM. */
int ada_tally_feed(struct ada_tally *tally, const struct ada_event *event, uint64_t position);
/* Whether an end that is of none of `count` open calls lies as deep as some of them or less: it may have ended a call around them. */
bool ada_tally_needs_root(const struct ada_tally *tally, size_t count, const struct ada_event *event);

static inline bool ada_tally_is_end(const struct ada_event *event)
{
	return event->event_kind - ADA_EVENT_RETURN <= ADA_EVENT_EXCEPTION - ADA_EVENT_RETURN;
}

/* NULL: no memory, and the tally says so. */
static inline struct ada_function_stats *ada_tally_find(struct ada_tally *tally, uint64_t function_id)
{
	struct ada_function_stats *function = ada_counter_find(tally->counter, function_id);

	if (__builtin_expect(!function, 0))
		tally->result = -ENOMEM;
	return function;
}

/* What a beginning call remembers of its function. Only the outermost call of a function adds to the total: the lowest bit is set in that
 * one. */
static inline uintptr_t ada_tally_remember(struct ada_function_stats *function)
{
	return (uintptr_t)function | !function->active++;
}

static inline struct ada_function_stats *ada_tally_function(uintptr_t remembered)
{
	return (struct ada_function_stats *)(remembered & ~(uintptr_t)1);
}

static inline struct ada_function_stats *ada_tally_function_of(const struct ada_call *call)
{
	return ada_tally_function((uintptr_t)call->user);
}

static inline void ada_tally_count(struct ada_tally *tally, uintptr_t remembered, uint64_t duration_ns, uint64_t children_ns,
				   bool across_loss)
{
	struct ada_function_stats *function = ada_tally_function(remembered);

	function->total_ns += duration_ns & -(remembered & 1); /* no branch: no CPU could guess it */
	function->self_ns += duration_ns > children_ns ? duration_ns - children_ns : 0;
	if (across_loss)
		function->calls++;
	else if (ada_histogram_add(&function->durations, duration_ns))
		tally->result = -ENOMEM;
}

/* Whether the innermost call on the thread's stack is this one. */
static inline bool ada_tally_is_innermost(const struct ada_tally *tally, uint32_t depth, uint64_t function_id)
{
	const struct ada_calls *calls = &tally->calls;
	const struct ada_call *call = calls->stack.count ? &calls->stack.items[calls->stack.count - 1] : NULL;

	return call && call->depth == depth && call->function_id == function_id;
}

/* It ends; *children_ns as of ada_tally_quick. */
static inline void ada_tally_end_innermost(struct ada_tally *tally, uint64_t ns, uint64_t *children_ns)
{
	struct ada_calls *calls = &tally->calls;
	const struct ada_call *call = &calls->stack.items[--calls->stack.count];
	uint64_t duration_ns = ada_call_duration_to(call, ns);

	if (calls->stack.count)
		calls->stack.items[calls->stack.count - 1].children_ns += duration_ns;
	else
		*children_ns += duration_ns;
	if (call->user) {
		ada_tally_function_of(call)->active--;
		ada_tally_count(tally, (uintptr_t)call->user, duration_ns, call->children_ns, call->losses != calls->losses);
	}
}
#endif
