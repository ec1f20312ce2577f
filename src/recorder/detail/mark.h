/* From the ring of marks in shared memory (abi/policy.h) to windows. One a provider; main thread only. A wrong number in the ring may
 * cost this provider's windows, no more.
 *
 * A mark is entered at once, by its counter. Its rolls in events and its place in the index file follow as soon as the source knows them.
 * Until then a pre-roll in events reaches as far back as there is history; a post-roll in events has an open end and a ticket until its
 * last event is there, its thread has ended, or that thread has recorded nothing for a second.
 */
#ifndef ADA_RECORDER_MARK_H
#define ADA_RECORDER_MARK_H
#include "recorder/detail/window.h"
#include "recorder/index/segment.h"

#define ADA_MARK_TICKET_OTHERS (1ull << 63) /* tickets with this bit are not of mark.c: its own stay below */

enum ada_mark_answer { ADA_MARK_LATER, ADA_MARK_KNOWN, ADA_MARK_GONE }; /* not committed or drained yet; found; no longer there */

/* Questions about the lanes, which detail.c answers. `seq` is as the ring numbers a thread's events. */
struct ada_mark_source {
	void *context;
	uint64_t (*ns)(void *context, uint64_t counter);
	/* ns_per_tick of the clock's first anchor, which turned the rules' rolls from ns into ticks. 0: ns() tells rolls */
	double ns_per_tick;
	/* When the event happened. The answer is there while its detail chunk is in the pool. */
	enum ada_mark_answer (*time)(void *context, uint32_t thread, uint64_t seq, uint64_t *ns);
	/* Where the event is in the index files. The answer is there once it is drained. */
	enum ada_mark_answer (*place)(void *context, uint32_t thread, uint64_t seq, uint32_t *segment, uint64_t *index_seq);
	uint64_t (*committed)(void *context, uint32_t thread); /* seq behind the thread's last event */
	bool (*ended)(void *context, uint32_t thread);	       /* the thread adds no more events */
};

struct ada_marks;
int ada_marks_open(struct ada_marks **marks, struct ada_segment *segment, struct ada_windows *windows,
		   const struct ada_mark_source *source);
/* Enters new marks and resolves what it can by now. True where anything changed. The caller has drained the index, and has read the pin
 * before this call: a mark that came after that reading makes the caller's compare-and-swap fail. */
bool ada_marks_read(struct ada_marks *marks);
/* No thread writes any more, all is drained: reads the ring to its end and ends post-rolls that are over. The others stay open until
 * ada_windows_end: the process's end ends them. */
void ada_marks_finish(struct ada_marks *marks, uint64_t end_ns);
/* Notes what the recorder itself wants kept, in counters: before the pin is widened. */
void ada_marks_own(struct ada_segment *segment, uint64_t start, uint64_t end);
/* After windows were settled and the pin narrowed: marks that no window waits for pin nothing any more. `wanted` says whether an
 * unsettled window wants something between two counters. */
void ada_marks_settle(struct ada_marks *marks, bool (*wanted)(void *context, uint64_t first, uint64_t last), void *context);
void ada_marks_close(struct ada_marks *marks);

/* The mark entered last; ns 0: none yet. */
struct ada_mark_last {
	uint64_t ns, rules;
	uint32_t version;
};
struct ada_mark_last ada_marks_last(const struct ada_marks *marks);
#endif
