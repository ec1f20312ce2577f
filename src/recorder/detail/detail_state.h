/* What the parts of the detail store share (its API: detail.h). All of it is the main thread's.
 *
 *   detail.c          the turn: marks, windows, what is due; own marks; the end
 *   detail_place.c    where each thread's drained events lie in index files and detail chunks; what is missing
 *   detail_write.c    from chunks to detail.atf
 *   detail_cut.c      what of a window a failed disk took
 *   detail_redact.c   what of a record no file gets
 *   detail_pin.c      the pin, and HELD chunks that go back
 *   detail_lost.c     what is missing in the index
 *   detail_source.c   what mark.c asks
 *   detail_metrics.c  counts, rates, advice
 *
 * A place says where a thread's records are: the drain tells for each stretch of a chunk's events which file, index_seq and detail_seq
 * they got. Only what is drained is written, so records need no other proof that they are whole.
 *
 *   thread    --place--place--place--|--place--place--...
 *             written or never to be | cursor: what windows of now and later may want
 *
 * Windows are written from the oldest on, up to a time that all threads have passed (done_ns). Of the time up to done_ns only records
 * that were committed late are written later.
 */
#ifndef ADA_RECORDER_DETAIL_STATE_H
#define ADA_RECORDER_DETAIL_STATE_H
#include "recorder/detail/detail.h"
#include "recorder/detail/mark.h"
#include "recorder/detail/quiet.h"
#include "recorder/index/drain.h"

#define ADA_DETAIL_MARGIN_NS 1000000ull		     /* between an event's time and its commit, but for the events of C code */
#define ADA_DETAIL_TICKET_ALL ADA_MARK_TICKET_OTHERS /* of the window of --detail-mode=oneshot and streaming */

struct detail_place {	    /* events of one detail chunk that lie together in one index file */
	uint64_t seq;	    /* of the first, as the ring counts */
	uint64_t chunk_seq; /* first_seq of the chunk */
	uint64_t first_counter, last_counter;
	uint64_t count;
	uint32_t chunk;			/* ADA_NONE: none was to be had, or several that are gone (forgotten) */
	uint32_t segment;		/* UINT32_MAX: of several, forgotten */
	uint32_t index_seq, detail_seq; /* of the first; the others count on from there (detail_seq: those with a kind) */
	uint32_t why;			/* enum ada_window_short, where chunk is ADA_NONE */
};

struct detail_redacted {
	uint64_t values[16]; /* of arguments that were dropped, the last ones; 0: none */
	uint32_t next;
	bool began; /* the thread has called a function with such an argument */
};

struct detail_share { /* of a window in one detail file */
	uint32_t window;
	uint64_t count; /* records that were handed over */
};

struct detail_thread {
	ADA_ARRAY(struct detail_place) places; /* in order */
	uint64_t cursor;		       /* seq: all before it are done with */
	uint64_t gone_ns;		       /* before the first place kept detail is missing up to this time; 0: none is missing */
	uint32_t gone_why;
	struct atf_detail_writer *writer; /* of `segment`; NULL: none is open */
	uint32_t segment;
	ADA_ARRAY(struct detail_share) shares; /* of that file, by time */
	uint64_t told_bytes;		       /* of file_bytes: that the bound knows of */
	uint64_t file_bytes;		       /* of its records, and what the tables will have for them */
	bool in_window, touched;
	uint32_t window;  /* id of the one begun last */
	uint64_t last_ns; /* of its newest record */
	uint64_t persisted;
	struct detail_redacted redacted;
	uint64_t late_ns, late_seq; /* events drained after done_ns had passed them: their first time, seq behind the last */
	uint64_t ended_at;	    /* 1 + the ring's head when the thread's end was seen; 0: not yet */
	bool failed;		    /* no file takes any more of it */
};

struct detail_spool;
struct detail_mark { /* of our own, whose post-roll in events goes on */
	uint64_t ticket, counter, base, events, end_ns;
	struct ada_quiet quiet;
};

struct detail_loss {
	uint64_t from_ns, to_ns, count;
}; /* of one thread, between the two */

struct ada_details {
	struct ada_segment *segment;
	struct ada_drain *drain;
	struct ada_details_options options;
	struct ada_windows *windows;
	struct ada_marks *marks;
	ADA_ARRAY(struct detail_thread) threads; /* by id */
	size_t places, places_kept;		 /* in all; as many as remained when they were last gone through */
	ADA_ARRAY(struct detail_mark) open_marks;
	ADA_ARRAY(struct detail_loss) losses;
	uint64_t tickets;
	uint64_t done_ns;			    /* see above; 0: nothing is written yet */
	struct detail_spool *spool;		    /* index circular: chunks kept until the end. NULL: none */
	bool late;				    /* events of times up to done_ns were drained afterwards */
	bool behind;				    /* more is to be written for want of room than one turn does */
	uint64_t pre_ns, pre_events;		    /* the longest pre-rolls that any rule in force asks for */
	unsigned patience;			    /* turns that a due window has waited for threads */
	uint64_t looked_ns, narrowed_ns, closed_ns; /* when the pool was looked through, the pin narrowed, files closed */
	uint64_t looked_start;			    /* the pin's, when held chunks were last looked for, ... */
	unsigned idle_looks;			    /* ... and looks since it changed, or pinned anything */
	bool all_ended;				    /* persist_all, oneshot: the pool is full */
	bool finished;
	struct ada_error error; /* first failure of a detail file */
	/* Metrics */
	uint64_t dumps, settled, settled_ns, settled_events, persisted, refused, unwritten;
	double pool_use_sum;
	uint64_t rate_ns, rate_chunks; /* when the rate was measured, sealed_head then */
	double chunks_per_second;
	bool advised;
	char advice[256], advice_told[256];
	uint64_t own_marks;
	struct ada_mark_last own_last;
	struct ada_detail_metrics metrics; /* the segment's part of them, as last looked at */
};

/* --- what the index lane tells of (lane.h): detail_place.c, detail_lost.c */
void ada_details_drained(struct ada_details *details, const struct ada_details_place *place);
void ada_details_overwritten(struct ada_details *details, uint32_t thread, uint64_t seq, uint64_t count, uint64_t counter);
void ada_details_lost(struct ada_details *details, uint64_t from_ns, uint64_t to_ns, uint64_t count);

/* --- detail_place.c --- */
struct detail_thread *ada_detail_thread(struct ada_details *details, uint32_t thread); /* NULL: no memory, or no such thread */
/* The chunk's memory, or NULL: it is gone (or spooled: see there). *claimed: an agent is about to decide. */
const uint8_t *ada_detail_chunk(const struct ada_details *details, uint32_t thread, const struct detail_place *place, bool *claimed);
/* Where the records of a place's events begin, in units of ADA_DETAIL_UNIT from the chunk's start. An agent may write into the chunk
 * meanwhile: then the records are as good as gone, but never outside. */
struct detail_walk {
	const uint8_t *chunk;
	uint64_t chunk_seq;
	uint32_t bytes, count;
	uint16_t at[ADA_CHUNK_EVENTS];
	uint16_t captured[ADA_CHUNK_EVENTS]; /* the record of what its arguments point at; 0: none */
};
void ada_detail_walk(const struct ada_details *details, const uint8_t *chunk, const struct detail_place *place, struct detail_walk *walk);
/* The record of an event and what it holds; NULL: the event has no detail. */
const struct ada_detail *ada_detail_record(const struct detail_walk *walk, uint64_t seq, struct ada_detail_view *view);
size_t ada_detail_place_of(const struct detail_thread *thread, uint64_t seq); /* position, or places.count */
uint64_t ada_detail_ns(const struct ada_details *details, uint64_t counter);
uint64_t ada_detail_event_ns(const struct ada_details *details, uint32_t thread, uint64_t seq, uint64_t counter);
/* Cuts windows that begin by `until_ns` where detail is missing. False: a chunk's fate is not decided yet, so nothing was cut; with
 * `decided` such a chunk counts as gone. */
bool ada_detail_holes(struct ada_details *details, uint64_t until_ns, bool decided);

/* How many chunks the events between the two fill; 0: not known any more. */
double ada_detail_chunks(const struct ada_details *details, uint64_t from_ns, uint64_t to_ns);

/* Up to where to write now, at most `until_ns`, so that the index doesn't wait for long. */
uint64_t ada_detail_slice(const struct ada_details *details, uint64_t until_ns);

/* --- detail_write.c --- */
/* Writes all windows that begin by `until_ns`, up to there, and settles those that are over. */
void ada_detail_write(struct ada_details *details, uint64_t until_ns);
/* Writes what was committed only after its windows were written. True where there was anything. */
bool ada_detail_write_late(struct ada_details *details);
AtfDetailWindow ada_detail_entry(const struct ada_window *window, uint64_t end_ns); /* as a file has it that ends there */
void ada_detail_close_ended(struct ada_details *details);
void ada_detail_close_all(struct ada_details *details);

/* --- detail_cut.c --- */
/* From here on records of the window get into the thread's file. False: no memory. */
bool ada_detail_share_begin(struct detail_thread *thread, uint32_t window);
void ada_detail_unwritten(struct ada_details *details, struct ada_window *window, uint64_t records);
/* The thread's file was closed and could not be finished: finishes it as far as there is room, and counts what it holds. The rest of what
 * was handed over is unwritten. The index of its segment is closed. */
void ada_detail_cut(struct ada_details *details, struct detail_thread *thread, uint32_t number);

/* --- detail_redact.c --- */
/* Drops these arguments of a function (bit N) from the record of its call or return, and from either what is `known`: the thread's.
 * `stack`, `captured`: the record's bytes. */
void ada_detail_redact(struct atf_detail *record, uint8_t *stack, uint8_t *captured, uint32_t arguments, struct detail_redacted *known);

/* --- detail_lost.c --- */
void ada_detail_settle_losses(const struct ada_details *details, struct ada_window *window);

/* --- detail_pin.c --- */
struct ada_pin ada_detail_pin(const struct ada_details *details);
/* Narrows the pin, as it was `seen`, to what windows still want; then gives back the HELD chunks that the pin no longer holds
 * (`look`). */
bool ada_detail_narrow(struct ada_details *details, struct ada_pin seen, bool look); /* false: a mark came meanwhile */
void ada_detail_widen(struct ada_details *details, uint64_t start, uint64_t end);    /* counters */
uint64_t ada_detail_counter(const struct ada_details *details, uint64_t ns);	     /* about: inverse of the clock */
struct detail_pool {
	uint32_t ready, free, recyclable, pinned, open, held;
	bool growing;
}; /* pinned: held ones included */
struct detail_pool ada_detail_pool(const struct ada_details *details);

/* Index circular: chunks that windows want go to the spool, the others back. */
void ada_detail_spool_turn(struct ada_details *details, struct ada_pin seen, uint64_t now_ns);

/* --- detail_source.c --- */
struct ada_mark_source ada_detail_source(struct ada_details *details);
uint64_t ada_detail_committed(const struct ada_details *details, uint32_t thread);
uint64_t ada_detail_committed_all(const struct ada_details *details);
/* Counter of the nth event of all threads together before or behind a counter, as far as history reaches. */
uint64_t ada_detail_nth(const struct ada_details *details, uint64_t counter, uint64_t nth, bool behind);

/* --- detail_metrics.c --- */
void ada_detail_rate(struct ada_details *details, uint64_t now_ns);
/* Sets sufficient_bytes of windows that were cut, by the rate; of a window that is being settled, by what there was. */
void ada_detail_suffice(struct ada_details *details);
void ada_detail_size(const struct ada_details *details, struct ada_window *window);
void ada_detail_keep_metrics(struct ada_details *details); /* before the segment is gone */
#endif
