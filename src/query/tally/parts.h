/* The threads of a selection, counted in parts by several workers: for stats.c and sums.c. Workers take the parts of a thread in order. The
 * worker that ends the part that a thread waits for joins it to what was counted before. Workers share nothing else. Memory grows with the
 * functions called, not with calls. */
#ifndef ADA_QUERY_PARTS_H
#define ADA_QUERY_PARTS_H
#include <pthread.h>
#include <stdatomic.h>
#include "abi/totals.h"
#include "query/tally/tally.h"

#define ADA_PARTS_PIECE (1u << 22) /* events, 128 MiB: beside it, adding up its functions is nothing */

struct ada_track;
struct ada_part { /* of a track: what one worker takes */
	struct ada_track *track;
	struct ada_piece piece;
	bool counted; /* as a piece; otherwise the part is read when its turn comes */
	atomic_bool ready;
};

struct ada_track { /* a thread of the recording */
	const struct ada_thread *thread;
	uint64_t begin;	   /* position: of the first event that is asked for */
	uint64_t from, to; /* positions: what is to be read; before `from` the sums know it */
	/* What the thread did before `from`, or NULL: nothing, or nobody asks for it. `counts` as of ada_totals_add */
	const AtfTotalsHeader *known;
	bool counts;
	AtfTotalsHeader *sums; /* malloc'ed, where `known` is these */
	uint64_t lost;
	struct ada_part *parts;
	size_t count;
	struct ada_tally tally; /* where parts are joined, with a counter of its own */
	struct ada_counter counter;
	pthread_mutex_t joining;
	size_t joined;	    /* parts */
	atomic_bool unruly; /* its pieces don't fit: stop trying */
};

struct ada_job {
	/* The caller's, before it is opened */
	uint64_t piece_events; /* threads of more events are counted in pieces of so many */
	unsigned int workers;  /* that are wanted; 0: one a CPU */
	bool anew;	       /* sums that files have don't count */
	/* For sums.c: tracks stay as they are behind the last part that was joined, and no part is begun at this time or later (0: all are) */
	bool stays;
	uint64_t until_ns; /* of ada_clock_boottime_ns */
	struct ada_work work;
	/* Its own */
	struct ada_track *tracks;
	size_t track_count;
	struct ada_part *parts;
	size_t part_count;
	atomic_size_t next;
};

/* Shares the selection's threads out, and adds what is to be read to the progress' total. 0 or -ENOMEM; ada_job_close in any case. */
int ada_job_open(struct ada_job *job, const struct ada_selection *selection);
/* Counts, into `sum`; where tracks stay, into their tallies. 0, -EINTR, -ENOMEM, or -EBADMSG: a packed block contradicts itself. Of such a
 * block all events are lost, which only shows when they are decoded: work.by_events counts so. */
int ada_job_run(struct ada_job *job, struct ada_counter *sum);
void ada_job_close(struct ada_job *job);
#endif
