/* What ada says on stderr while it records, and at the end. Main thread. */
#ifndef ADA_RECORDER_PROGRESS_H
#define ADA_RECORDER_PROGRESS_H
#include "recorder/state/state.h"

struct ada_recording_progress {
	bool shown; /* stderr is a terminal, and not --quiet */
	bool drawn;
	uint64_t drawn_ns, events; /* at the last drawing */
};

struct ada_totals {
	uint64_t events, lost, overwritten, threads;
	uint64_t aged; /* of the events: calls and ends that have gone into totals */
	size_t processes, live;
};
struct ada_totals ada_recording_totals(struct ada_recorder *recorder);
void ada_recording_open(struct ada_recording_progress *progress, bool quiet);
void ada_recording_draw(struct ada_recording_progress *progress, struct ada_recorder *recorder); /* at most five times a second */
/* The program has ended: says for whom the recording goes on, and how to end it. `stray`: one more process; 0: none. False: nothing was
 * said, for there is no terminal, or no process to name. */
bool ada_recording_waits(struct ada_recording_progress *progress, struct ada_recorder *recorder, pid_t stray);
/* The program took an interrupt for itself: says, on a terminal, what the next one does. */
void ada_recording_goes_on(struct ada_recording_progress *progress);
void ada_recording_clear(struct ada_recording_progress *progress);
void ada_recording_summary(struct ada_recorder *recorder);
#endif
