/* From detail chunks to detail.atf (states of a chunk, pin: abi/detail.h). One a provider; main thread only.
 *
 * Each turn: marks are read into windows; holes and closed windows are looked at; what windows want is written; HELD chunks
 * that nothing wants are freed; the pin is narrowed. A window's records are written when it closes, or earlier (frozen)
 * where the pool is running short. The index is drained first: a record's index_seq and detail_seq are known from then on.
 */
#ifndef ADA_RECORDER_DETAIL_H
#define ADA_RECORDER_DETAIL_H
#include "recorder/detail/window.h"
#include "recorder/index/lane.h"
#include "recorder/index/segment.h"

struct ada_details;
struct ada_details_options {
	struct ada_lane_options lane; /* sink, clock */
	bool persist_all;	      /* --detail-mode=oneshot and streaming: one window from the start on */
	uint64_t start_ns;
	uint64_t buffer_bytes; /* --detail-buffer, for advice */
	/* Which arguments of a function no file may have: bit N, of 1 to 6. NULL: none of any */
	uint32_t (*redacted)(void *context, uint64_t function_id);
	void *context;
};
struct ada_drain;
int ada_details_open(struct ada_details **details, struct ada_segment *segment, struct ada_drain *drain,
		     const struct ada_details_options *options);
struct ada_windows *ada_details_windows(struct ada_details *details);
/* Pins and enters a mark of the recorder's own (sampled, manual, exit), as an agent does. Rolls in ticks and events; a roll in events
 * counts those of all threads together. */
int ada_details_mark(struct ada_details *details, const struct ada_rule *rules, uint64_t slots, uint32_t version, uint64_t counter,
		     uint64_t value);
/* Sets the longest pre-rolls that any rule asks for: so long closed windows wait for a mark whose pre-roll reaches into them. */
void ada_details_pre_rolls(struct ada_details *details, uint64_t ns, uint64_t events);
/* True where a window closed or was settled: the manifest is out of date. */
bool ada_details_turn(struct ada_details *details, uint64_t now_ns);
/* No thread writes any more; the index is drained. Settles every window and closes every file. */
void ada_details_finish(struct ada_details *details, uint64_t end_ns, enum ada_window_short why);
/* Segments of the thread before `border` go: its detail file of one of them is closed, and no detail of theirs is kept any more. */
void ada_details_leave(struct ada_details *details, uint32_t thread, uint32_t border);
/* --- detail_keep.c: windows in a session that is kept within bounds ---
 * Whether a window wants what lies between the two times: its own, and around it a second or its rolls, whichever is more. One of whose
 * records some have gone wants nothing any more. */
bool ada_details_want(const struct ada_details *details, uint64_t from_ns, uint64_t to_ns);
bool ada_details_own(const struct ada_details *details, uint64_t from_ns, uint64_t to_ns); /* a part of the window itself lies there */
/* The windows that do are given up: first what lies around them; the second time all of them. */
void ada_details_give_up(struct ada_details *details, uint64_t from_ns, uint64_t to_ns);
void ada_details_gone(struct ada_details *details, uint32_t thread, uint32_t window, uint64_t records);
/* Closes the thread's detail file, where it is this segment's. */
void ada_details_drop(struct ada_details *details, uint32_t thread, uint32_t segment);
uint64_t ada_details_open_bytes(const struct ada_details *details, uint32_t thread,
				uint32_t *segment); /* of the file being written; 0: none */
/* Where less history than all of the pool is to be enough: it reaches back twice as far as any rule's pre-roll, and two seconds at least. */
bool ada_details_reach(const struct ada_details *details, uint64_t now_ns);
/* What the user should know while the recording goes on: once, then NULL. */
const char *ada_details_advice(struct ada_details *details);
const char *ada_details_failure(const struct ada_details *details); /* why some detail could not be written; NULL: all could */
void ada_details_close(struct ada_details *details);

/* What the manifest and `ada status` say: all as it is now. */
struct ada_detail_metrics {
	uint64_t events_processed, marked_events_detected, selective_dumps_performed, windows_discarded, avg_window_duration_ns,
		avg_events_per_window; /* the specification's six */
	uint64_t persisted_events, dropped_events, unwritten_events;
	uint64_t last_mark_ns, last_mark_rules; /* 0: none yet */
	uint32_t last_mark_version;
	uint64_t window_start_ns, window_events; /* of the open one; 0: none */
	double pool_use_at_dump, pool_use;	 /* share of chunks pinned or open: average when chunks were persisted; now */
	double oldest_history_ns;		 /* how far back the pool reaches now */
};
uint64_t ada_details_marked_ns(const struct ada_details *details); /* when it was marked last; 0: not yet */
void ada_details_metrics(const struct ada_details *details, struct ada_detail_metrics *metrics);
uint64_t ada_details_thread_events(const struct ada_details *details, uint32_t thread); /* persisted of it */
#endif
