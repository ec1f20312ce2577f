/* The files of one traced thread: its events in order, in as many segments as it takes. */
#ifndef ADA_RECORDER_LANE_H
#define ADA_RECORDER_LANE_H
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include "abi/wire.h"
#include "atf.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"

struct ada_arena_writer;
struct ada_bound;
struct ada_ledger;
struct ada_packed_lane;
struct ada_packers;
struct ada_sink;
struct ada_squeezer;
/* The detail store wants to know where events with detail went, and which ones are in no file. */
struct ada_details;
struct ada_details_place {
	uint32_t thread, detail_chunk, segment;
	uint64_t chunk_seq, seq, index_seq, detail_seq;
	size_t count;
	uint64_t first_counter, last_counter;
};
struct ada_lane_listener {
	/* `count` events of an index chunk are in a file; this detail chunk (or ADA_NONE) goes with the index chunk. */
	void (*drained)(struct ada_details *details, const struct ada_details_place *place);
	/* Index circular: `count` events before one at this counter are in no file, so their detail isn't either. */
	void (*overwritten)(struct ada_details *details, uint32_t thread, uint64_t seq, uint64_t count, uint64_t counter);
	/* `count` events of one thread between the two (to_ns UINT64_MAX: behind its last) are in no index file. */
	void (*lost)(struct ada_details *details, uint64_t from_ns, uint64_t to_ns, uint64_t count);
};
struct ada_lane_detail {
	uint32_t chunk;
	uint64_t chunk_seq;
}; /* a detail chunk, and its first_seq */
struct ada_lane_raised {
	uint64_t seq, ns;
};
#define ADA_LANE_RAISED_MAX 4096u

enum ada_pack {
	ADA_PACK_AUTO, /* a thread's first segment is plain; behind it, and where the disk holds the drain up, it goes on packed */
	ADA_PACK_ALWAYS,
	ADA_PACK_NEVER,
};

struct ada_lane_options {
	struct atf_sink *sink;
	struct ada_sink *patient; /* the same, where it is patient: then a failure that may pass is -EAGAIN. NULL: it isn't */
	struct ada_clock *clock;
	uint64_t segment_events; /* 0: no limit but the format's */
	enum ada_pack pack;
	struct ada_packers *packers;		  /* NULL: all segments are plain */
	struct ada_details *details;		  /* NULL: no detail lane */
	const struct ada_lane_listener *listener; /* what it is told by */
	bool numbers_detail; /* without `details`: number them all the same, for a later look at which of them have detail */
	bool circular;	     /* events that are not there were overwritten, as asked */
	/* When no descriptor is left: lays files of other lanes to rest. False: there were none. NULL: can't */
	bool (*make_room)(void *context);
	/* Before a file is opened: the same, where only the descriptors are left that all else needs. NULL: can't */
	void (*spare_some)(void *context);
	void *context;
	struct ada_arena_writer *arena; /* where the lane notes what of its files counts; NULL: nowhere */
	uint32_t provider;		/* the number, in the arena, of the provider that has these lanes */
	struct ada_ledger *ledger;	/* is shown each batch of events; NULL: nobody counts */
	struct ada_squeezer *squeezer;	/* is told of segments with raw blocks; NULL: they stay so */
	struct ada_bound *bound;	/* is told of closed segments, and says where they end; NULL: no limit */
};

/* From event `seq` on (as the agent numbers them) events follow one another in one file. */
struct ada_lane_stretch {
	uint64_t seq, index_seq;
	uint32_t segment;
};

struct ada_lane {
	uint32_t id, thread_id;
	uint32_t entry;		    /* of the thread table; ADA_NONE: not met yet, or given back */
	bool given_back;	    /* then: */
	struct ada_shm_thread last; /* the entry as it was */
	uint32_t note;		    /* of the arena; 0: none, or not yet */
	bool noteless;		    /* there was none to be had */
	uint64_t next_seq;	    /* as the agent numbers this thread's events */
	uint64_t events, lost, overwritten, gaps;
	uint64_t segment_gaps;		 /* of the segment being written */
	uint64_t told_lost;		 /* of lost: what the agent's own LOST records say */
	ADA_ARRAY(uint64_t) segments;	 /* events of each */
	uint64_t segment_ns;		 /* time of the first event of the last one */
	uint32_t leaving, first_segment; /* the first segment that isn't on its way out; that has not gone into totals */
	ADA_ARRAY(uint32_t) kept;	 /* those on their way out, or gone, that windows want */
	uint64_t aged;			 /* calls and ends that have */
	uint64_t events_seen;		 /* `events`, when it was last looked whether the thread has any */
	bool was_active;		 /* it had events then */
	uint32_t packed_segments;	 /* so many of the last ones are packed */
	struct atf_index_writer *writer; /* of the last segment; NULL: not open, or packed */
	struct ada_packed_lane *packed;	 /* of all packed ones, and for what comes before them; NULL: there will be none, or not yet */
	bool rests;			 /* the file has no descriptor: more are alive than this process may have */
	uint64_t time_max_ns;		 /* of the segments that are closed */
	bool unflushed;
	bool behind;	   /* when it was last looked at, its thread had done more than it was given */
	uint64_t looked;   /* events of the segment being written, when it was last flushed: the sink may not have written them yet */
	bool has_detail;   /* the segment being written has a detail file */
	uint64_t captured; /* events with detail in this segment: the next one's detail_seq */
	uint64_t last_ns;
	/* Events whose time fell, by number, and the time they were raised to; no more than ADA_LANE_RAISED_MAX */
	ADA_ARRAY(struct ada_lane_raised) raised;
	ADA_ARRAY(struct ada_lane_stretch) stretches; /* a new one where a segment begins, or where a LOST record was put in */
	bool closed;				      /* the thread has ended and all is written */
	bool ends; /* no more comes: events lost from here on were lost at any time behind the last one */
};

/* Appends events of the ring whose first has the number `seq`; `directory` is the process's. `detail`: the detail chunk that goes with
 * them; its chunk is ADA_NONE where there is none. Events between next_seq and seq are marked as lost. 0, or -errno: nothing more can be
 * written to the lane, which then counts as full; -EAGAIN: what lies below next_seq is appended, the rest may be later. */
int ada_lane_append(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, uint64_t seq,
		    const struct ada_event *events, size_t count, struct ada_lane_detail detail, struct ada_error *error);
/* Closes the segment being written, where it has events, and begins the next. */
int ada_lane_roll(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, struct ada_error *error);
/* Segments before `border` have gone into totals, which have so many calls and ends; with `empty` that one was made, and has no events. */
void ada_lane_aged(struct ada_lane *lane, const struct ada_lane_options *options, uint32_t border, bool empty, uint64_t aged);
/* Whether the segment is one that windows keep, of those before `leaving`. */
bool ada_lane_keeps(const struct ada_lane *lane, uint32_t segment);
void ada_lane_keep(struct ada_lane *lane, uint32_t segment, bool keeps);
/* Whether the segment has so many events; what a packed block held that a full disk did not take is no longer there. */
bool ada_lane_has(const struct ada_lane *lane, uint32_t segment, uint64_t index_seq);
/* Where an event of the ring is in the files; false: not there. */
bool ada_lane_place(const struct ada_lane *lane, uint64_t seq, uint32_t *segment, uint64_t *index_seq);
/* Whether that segment is packed. */
static inline bool ada_lane_is_packed(const struct ada_lane *lane, size_t segment)
{
	return segment + lane->packed_segments >= lane->segments.count;
}
/* A segment got a detail file: the header of its index file says so, now or when it is closed. */
void ada_lane_has_detail(struct ada_lane *lane, const char *directory, uint32_t segment);
/* A LOST record of `count` events behind the last one. */
int ada_lane_mark_lost(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, uint64_t count,
		       uint64_t counter, struct ada_error *error);
bool ada_lane_rest(struct ada_lane *lane); /* gives its descriptor back until it has more to write; false: it had none */
/* Call before a file is opened: keeps some descriptors for all but lanes. */
void ada_lane_spare_files(const struct ada_lane_options *options);
/* Call after opening a file failed (errno): true where another try may work now. */
bool ada_lane_room_made(const struct ada_lane_options *options);
/* The failure was a lack of descriptors. */
static inline bool ada_lane_short_of_files(int status)
{
	return status == -EMFILE || status == -ENFILE;
}
int ada_lane_flush(struct ada_lane *lane, const char *directory, struct ada_error *error);
bool ada_lane_is_written(const struct ada_lane *lane); /* whoever reads its file now finds all that had been done at the last look */
/* After a failure the counts are of what is in the file. -EAGAIN: nothing is closed, and may be later. */
int ada_lane_close(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, struct ada_error *error);
/* Commits the lane's state to the arena: before the chunks that it was copied from may go. */
void ada_lane_note(struct ada_lane *lane, const struct ada_lane_options *options);
/* The same for what the thread table says of the lane's thread. */
void ada_lane_note_last(struct ada_lane *lane, const struct ada_lane_options *options, const struct ada_shm_thread *last);
/* All of it is on the disk: the next lane may have its note. */
void ada_lane_forget(struct ada_lane *lane, const struct ada_lane_options *options);
void ada_lane_free(struct ada_lane *lane);
#endif
