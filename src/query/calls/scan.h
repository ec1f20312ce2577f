/* Reads the calls of a selection: its threads side by side, each by one worker from its first event to its last.
 *
 * By the rules of stats.h: the scan tells of calls that begin in the selection's time, and reads on until they have ended. Each worker
 * counts into a struct of its own; the caller adds up afterwards.
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
	/* Calls that were open when the selection's time began, and still are: the bottom of the stack of `calls`, above.count of
	 * them. */
	struct ada_stack above;
	int result; /* a receiver that fails sets it; ends the work */
	/* Set by the caller: of each call the part counts that lies in the selection's time. Those of `above` then begin with it, with
	 * `user` NULL, which the receiver's `thread` may set; and what is open at its end is told as open, to that time. */
	bool clipped;
	/* scan.c's own: */
	struct ada_scan_job *job;
	uint64_t to; /* position: calls that begin from there on are not told */
	uint64_t events;
	uint64_t open; /* calls that were told and have not ended */
	bool shows_progress;
	bool seeding; /* the calls of `above` are being put in */
};

/* Each gets the caller's struct, and hears only of calls that begin in the selection; `begun` sets call->user, or scan->result. */
struct ada_scan_receiver {
	void (*thread)(struct ada_scan *scan); /* another thread begins; may be NULL */
	void (*begun)(struct ada_scan *scan, struct ada_call *call);
	void (*set_aside)(struct ada_scan *scan, struct ada_call *call); /* may be NULL */
	void (*ended)(struct ada_scan *scan, const struct ada_call *call);
};

/* How many workers: as many as asked for (0: one a CPU), but no more than there are threads to read. */
unsigned int ada_scan_workers(const struct ada_selection *selection, unsigned int workers);
/* `crew`: `workers` structs of `size` bytes, all zero but for what the receiver needs. 0 or -errno; -EINTR once ada_interrupted(). The
 * receivers free what they have made. */
int ada_scan_run(const struct ada_selection *selection, const struct ada_scan_receiver *receiver, void *crew, size_t size,
		 unsigned int workers, struct ada_completeness *completeness, struct ada_error *error);

/* The caller of `call`, which has just begun; NULL where it is the outermost call that is told. */
static inline const struct ada_call *ada_scan_caller(const struct ada_scan *scan, const struct ada_call *call)
{
	return scan->calls.stack.count > scan->above.frames.count + 1 ? call - 1 : NULL;
}
#endif
