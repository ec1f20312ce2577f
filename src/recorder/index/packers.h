/* Threads that encode and write what lanes record packed (packed_lane.h). Started when first needed.
 *
 *   main thread                                           worker, the same one for all jobs of a lane
 *   a run is full, and the lane's note counts it: job --- queue --> encoded, written behind the blocks before
 *   the run's memory goes back to the arena           <--- done ---
 *
 * One lock guards the queues and what the two sides tell each other; a job is a thousandth of a second of work.
 *
 * Where the disk can't take a block just now (trouble.h) its worker waits until the sink says that another try is due: all that lies in its
 * queue waits as well. Where the sink insists the worker tries for a while, and then gives the file up.
 */
#ifndef ADA_RECORDER_PACKERS_H
#define ADA_RECORDER_PACKERS_H
#include "atf/pack/packed.h"

struct ada_packers;
struct ada_packed_lane;

/* The events of a stretch of a file, in memory: the arena's, or the heap's. */
struct ada_packed_run {
	struct ada_event *events;
	size_t bytes; /* room, not how much is filled */
	bool taken;   /* from the arena */
};
#define ADA_PACKED_RUN_MOST (ATF_PACK_EVENTS * sizeof(struct ada_event)) /* a block's events */

enum ada_packed_what {
	ADA_PACKED_TAIL,  /* more events will follow in the run, and one block takes this one's place */
	ADA_PACKED_BLOCK, /* these events are done, and the run goes back */
	ADA_PACKED_END,	  /* the file gets its directory and footer */
};
/* Of a lane: what the lock guards. */
struct ada_packed_state {
	unsigned worker;  /* any number */
	unsigned pending; /* jobs */
	int error;	  /* -errno of the first that failed for good: the others are passed over */
};

struct ada_packed_job {
	struct ada_packed_job *next;
	struct ada_packed_lane *lane;
	struct ada_packed_state *state; /* its lane's */
	struct ada_packed_run run;
	enum ada_packed_what what;
	uint32_t count; /* events of the run */
	uint32_t flags; /* END: of the file's header */
};

/* What a worker does with a job. 0 or -errno; where the disk can't now the worker calls it again. `pressed`: it can't keep up. */
typedef int ada_packers_work(struct atf_packer *packer, const struct ada_packed_job *job, bool pressed);
/* workers 0: as many as pay */
int ada_packers_open(struct ada_packers **packers, ada_packers_work *work, unsigned workers);
void ada_packers_close(struct ada_packers *packers); /* all that is queued is done first, but what the disk doesn't take */

/* The job is the packers' until it is done. -ENOMEM, or no thread can be had: it stays the caller's. */
int ada_packers_submit(struct ada_packers *packers, struct ada_packed_job *job);
/* Jobs that are done, a list: the caller frees them, and gives back the runs of those that are no TAIL. */
struct ada_packed_job *ada_packers_done(struct ada_packers *packers);
/* Waits until all jobs of the lane are done, or until more is done than before. -errno: what keeps a worker from writing just
 * now, unless the sink insists. */
int ada_packers_wait(struct ada_packers *packers, const struct ada_packed_state *state, bool all);
bool ada_packers_is_done(struct ada_packers *packers, const struct ada_packed_state *state); /* all of the lane's jobs, and well */
int ada_packers_error(struct ada_packers *packers, const struct ada_packed_state *state);
void ada_packers_drop(struct ada_packers *packers, struct ada_packed_state *state); /* its jobs needn't be done any more */
uint64_t ada_packers_queued(struct ada_packers *packers);			    /* bytes of runs that are on their way */
uint64_t *ada_packers_memory(struct ada_packers *packers); /* the main thread's: bytes of all runs, also of those that are being filled */

/* --- for the sink ------------------------------------------------------------------------------------------------------- */

/* -errno where a worker waits for the disk; 0: none does. *wrote: something has been written since the last call. NULL: 0 */
int ada_packers_trouble(struct ada_packers *packers, bool *wrote);
int ada_packers_retry(struct ada_packers *packers); /* lets them try once, and says the same */
void ada_packers_insist(struct ada_packers *packers, bool insists);
#endif
