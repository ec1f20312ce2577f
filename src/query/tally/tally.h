/* Counts the calls of one thread of a recording: for stats.c. Either in order, or in pieces that are counted at the same time and then
 * joined in order. Both ways give the same to the bit; tally_pieces.c says how. */
#ifndef ADA_QUERY_TALLY_H
#define ADA_QUERY_TALLY_H
#include <stdatomic.h>
#include "query/calls/calls.h"
#include "query/tally/counter.h"

struct ada_work {		       /* what all workers share */
	struct ada_progress *progress; /* NULL: none */
	atomic_uint_fast64_t done;     /* events */
	atomic_bool stop;	       /* one has failed */
	bool by_events;		       /* packed blocks, too: one of them contradicts itself */
};

struct ada_kinds { /* how many events of each kind were read, whether or not they fit calls */
	uint64_t calls, ends, gaps;
	uint64_t told; /* what the gaps stand for */
};

struct ada_tally { /* how far a thread is counted */
	struct ada_calls calls;
	struct ada_counter *counter;
	const struct ada_thread *thread;
	uint64_t from; /* position: of the first event that is read */
	uint64_t to;   /* position: calls that begin from here on don't count */
	uint64_t lost; /* what LOST records before `to` stand for */
	struct ada_work *work;
	struct ada_kinds *kinds;	   /* what is read in order counts here, too; NULL: nobody asks */
	struct ada_function_stats **names; /* functions by their names in the packed block at hand; NULL: no block yet */
	bool rooted;			   /* open calls from before `from` are at the stack's bottom */
	bool shows_progress;		   /* on the thread that may */
	int result;
};

/* An end that found no call of its piece, a call that began while no call of its piece was open, or a RECORDER. */
struct ada_seam {
	struct ada_event event;
	uint64_t position;
	uint64_t children_ns; /* of calls since the seam before that have no caller in the piece */
	uint64_t total_ns;    /* of its function in the piece, up to here */
};

struct ada_piece {
	uint64_t from, to; /* positions */
	uint64_t end;	   /* counted up to here: the rest needs to know what came before the piece */
	struct ada_counter counter;
	ADA_ARRAY(struct ada_seam) seams;
	ADA_ARRAY(struct ada_call) open; /* at the end, outermost first */
	uint64_t children_ns;		 /* as of a seam at the end */
	uint64_t last_ns;		 /* of the last event that counts, if there was a seam */
};

/* Begins another thread, from its first event. The counter must be set to the thread's process. */
void ada_tally_open(struct ada_tally *tally, struct ada_counter *counter, const struct ada_thread *thread, struct ada_work *work);
/* Leaves the thread's events before `from` unread: calls may be open there. */
void ada_tally_begin(struct ada_tally *tally, uint64_t from);
/* Counts the events [from, to), in order. Sets tally->result. */
void ada_tally_read(struct ada_tally *tally, uint64_t from, uint64_t to);
/* Counts the events of a piece on their own: `tally` is a new one, with the piece's counter. */
void ada_tally_piece(struct ada_tally *tally, struct ada_piece *piece);
/* Adds a piece that was counted behind those counted so far, and closes it. False: the piece did not fit, and its events were read
 * again. */
bool ada_tally_join(struct ada_tally *tally, struct ada_piece *piece);
/* Reads on behind tally->to until the calls begun before it have ended; then ends those that are left. */
void ada_tally_finish(struct ada_tally *tally);
void ada_tally_close(struct ada_tally *tally);
void ada_piece_close(struct ada_piece *piece);
#endif
