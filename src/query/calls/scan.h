/* Reads the calls of a selection: its threads side by side, each by one worker from its first event to its last.
 *
 * By the rules of stats.h: what begins in the selection's time is told, and read on until it has ended. A worker counts into what
 * is its own; the caller adds up afterwards.
 */
#ifndef ADA_QUERY_SCAN_H
#define ADA_QUERY_SCAN_H
#include "query/calls/calls.h"
#include "query/calls/stack.h"
#include "query/session/selection.h"

struct ada_scan { /* one worker: the first member of the caller's own struct */
	const struct ada_scan_receiver *receiver;
	const struct ada_thread *thread; /* being read */
	size_t number;			 /* its place in the selection */
	struct ada_calls calls;
	/* Calls that were open when the selection's time began, as far as they still are when another begins: the bottom of the
	 * stack of `calls`, so many of them. */
	struct ada_stack above;
	int result; /* a receiver that fails sets it; ends the work */
	/* scan.c's own: */
	struct ada_scan_job *job;
	uint64_t to; /* position: what begins from there on is not told */
	uint64_t events;
	uint64_t open; /* calls that were told and have not ended */
	bool shows_progress;
	bool seeding; /* the calls of `above` are being put in */
};

/* Each gets the caller's struct. Only calls that begin in the selection are told; `begun` sets call->user, or scan->result. */
struct ada_scan_receiver {
	void (*thread)(struct ada_scan *scan); /* another thread begins; may be NULL */
	void (*begun)(struct ada_scan *scan, struct ada_call *call);
	void (*set_aside)(struct ada_scan *scan, struct ada_call *call); /* may be NULL */
	void (*ended)(struct ada_scan *scan, const struct ada_call *call);
};

/* How many workers: what was asked for (0: one a CPU), but no more than there are threads to read. */
unsigned int ada_scan_workers(const struct ada_selection *selection, unsigned int workers);
/* `crew`: `workers` structs of `size` bytes, all zero but for what the receiver needs. 0 or -errno; -EINTR once ada_interrupted().
 * What the receivers have made stays theirs. */
int ada_scan_run(const struct ada_selection *selection, const struct ada_scan_receiver *receiver, void *crew, size_t size,
		 unsigned int workers, struct ada_completeness *completeness, struct ada_error *error);

/* The call below which `call`, which has just begun, lies: NULL where it is the outermost of those that are told. */
static inline const struct ada_call *ada_scan_caller(const struct ada_scan *scan, const struct ada_call *call)
{
	return scan->calls.stack.count > scan->above.frames.count + 1 ? call - 1 : NULL;
}
#endif
