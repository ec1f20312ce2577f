/* From a provider's chunks to its threads' files (states of a chunk: abi/wire.h).
 *
 * Streaming and oneshot: takes sealed chunks in the order of the ring, twice a second what quiet threads have committed so far, at the
 * end whatever is in any chunk. Circular: takes all at the end. A wrong number of the agent's may cost that provider's events, no more.
 */
#ifndef ADA_RECORDER_DRAIN_H
#define ADA_RECORDER_DRAIN_H
#include <limits.h>
#include "recorder/index/lane.h"
#include "recorder/index/segment.h"

struct ada_drain {
	struct ada_segment *segment;
	struct ada_lane_options options;
	char directory[PATH_MAX];
	pid_t pid;
	bool tids_known;		  /* the thread table's ids are those of our pid namespace */
	ADA_ARRAY(struct ada_lane) lanes; /* by the thread's id */
	uint32_t *consumed;		  /* by chunk: up to this offset it is in the file; 0: not begun */
	uint64_t tail;			  /* position in the sealed ring */
	uint64_t bad_chunks;		  /* whose header made no sense */
	uint64_t written_ns;		  /* what was committed by then is in the files, of lanes that are written; 0: nothing is known */
	size_t rest_next;		  /* the lane to lay to rest next, where descriptors run out */
	bool holding;			  /* the disk is in trouble (drain_hold.h), and when that was first seen the pool had had */
	uint64_t misses;		  /* so many events without room and threads that waited */
	uint64_t stopped_ns;		  /* when the pool was used up meanwhile and recording stopped; 0: it didn't */
	bool failed;			  /* files can't be written: chunks are only given back, and counted as lost */
	struct ada_error error;		  /* why */
};

int ada_drain_open(struct ada_drain *drain, struct ada_segment *segment, const char *directory, pid_t pid,
		   const struct ada_lane_options *options);
void ada_drain_meet(struct ada_drain *drain); /* every thread that there is has a lane */
/* What the thread table says of a thread, or said last; NULL: the thread was never there. */
const struct ada_shm_thread *ada_drain_thread(const struct ada_drain *drain, uint32_t id);
/* The same of a thread that still has its entry; NULL: it has none. */
const struct ada_shm_thread *ada_drain_entry(struct ada_drain *drain, uint32_t id);
size_t ada_drain_sealed(struct ada_drain *drain); /* takes those there are now; returns how many */
size_t ada_drain_some(struct ada_drain *drain, size_t most);
void ada_drain_quiet(struct ada_drain *drain);			     /* what threads have committed by now, into their files */
void ada_drain_open_chunks(struct ada_drain *drain);		     /* what any thread has committed so far */
void ada_drain_roll(struct ada_drain *drain, struct ada_lane *lane); /* as ada_lane_roll; where it fails the drain has */
bool ada_drain_rest(struct ada_drain *drain);			     /* gives some lanes' descriptors back; false: none has one */
void ada_drain_finish(struct ada_drain *drain);			     /* no thread writes any more; closes every file */
void ada_drain_close(struct ada_drain *drain);
#endif
