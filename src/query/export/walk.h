/* The calls of a selection for the exports: thread after thread, in order, with the calls that are open where the selection begins.
 *
 * Of each thread comes: thread(); the calls that are open at the selection's start (begun(), their start_ns before from_ns);
 * begun, left, ended and lost in the order of the events; thread_done(). Every call that has begun ends before thread_done.
 * A call that is open at the selection's end ends there, `cut`, unless it is followed on (see `whole`).
 *
 * A call leaves the stack by ended() or, where it is found gone, by left(): at `last_ns`, the time of the last event that shows it, the
 * call was still there. For such a call ended() comes later, with `aside` set, when its end is known or is known to be missing. */
#ifndef ADA_QUERY_EXPORT_WALK_H
#define ADA_QUERY_EXPORT_WALK_H
#include "query/calls/calls.h"
#include "query/export/export.h"

struct ada_export_thread {
	const struct ada_thread *thread;
	size_t number;		 /* in the selection */
	uint64_t from_ns, to_ns; /* first and last time of what is exported of it, both inclusive; 0, 0 where nothing is */
	uint64_t events;
};

struct ada_export_receiver {
	void *context;
	/* Calls that begin in the selection are followed to their ends, also where those lie behind it. Calls that begin behind the
	 * selection are not told; calls that were open at its start end with it. */
	bool whole;
	/* Each returns 0 or -errno, which ends the walk. All but ended may be NULL. `cut`: goes on behind the selection. */
	int (*thread)(void *context, const struct ada_export_thread *thread);
	int (*begun)(void *context, struct ada_call *call);
	int (*left)(void *context, struct ada_call *call, uint64_t last_ns);
	int (*ended)(void *context, const struct ada_call *call, bool cut);
	int (*lost)(void *context, const struct ada_event *event, uint64_t position);
	int (*event)(void *context, const struct ada_event *event); /* each event of the selection, before its effects */
	int (*thread_done)(void *context);
};

/* Fills in the export's completeness. -EINTR: interrupted. Stops, with 0, where the output has failed. */
int ada_export_walk(struct ada_export *export, const struct ada_export_receiver *receiver, struct ada_error *error);

/* Whether calls are open behind the thread's last event. */
bool ada_export_hangs(const struct ada_thread *thread);

/* Events in the selection: the progress's total. */
uint64_t ada_export_events(const struct ada_selection *selection);
#endif
