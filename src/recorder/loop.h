/* The main loop of `ada trace`: drains, keeps manifests and session.json, notices ends, until all is over. Main thread. */
#ifndef ADA_RECORDER_LOOP_H
#define ADA_RECORDER_LOOP_H
#include "recorder/control/progress.h"
#include "recorder/policy/sample.h"
#include "recorder/process/grower.h"
#include "recorder/state/state.h"

struct ada_loop {
	struct ada_recorder *recorder;
	struct ada_grower grower;
	struct ada_recording_progress progress;
	struct ada_sampler *sampler;
	int signals;
	int ends; /* epoll: pidfds of those in `live` */
	int timeout_ms;
	int interrupts;		 /* SIGINTs seen */
	uint64_t interrupted_ns; /* the first */
	bool goes_on_told;
	bool main_ended, stop, asked; /* asked: by `ada stop` */
	uint64_t main_ended_ns;
	pid_t stray;	 /* found last (stray.h); 0: none */
	bool waits_told; /* the user was told for whom the recording goes on */
	bool sessions_changed, advised;
	uint64_t quiet_ns, calibrate_ns, stray_ns, session_ns;
	size_t taken;			       /* how many of the recorder's providers are, or were, in `live` */
	ADA_ARRAY(struct ada_provider *) live; /* not released yet */
	uint64_t drained_ns;		       /* when all of them were drained last */
	uint64_t session_cost_ns;
};

/* Runs until every traced process has ended, or the user wants no more. */
void ada_loop_run(struct ada_loop *loop);
/* Gives every provider its last manifest, lets no new one come; writes session.json and the summary. */
void ada_loop_end(struct ada_loop *loop);
void ada_loop_tell(int status, const struct ada_error *error); /* status not 0: on stderr */
#endif
