/* How much of a session may stay on the disk: --disk-limit, --max-age. The oldest segments go, once what they added up to is on the disk.
 *
 *   main thread                                    bound's own
 *   a segment is closed: listed, by its end        how large the session is, ten times a second
 *   the oldest one has to go    --------------->   its sums into THREAD/totals, on the disk; then its files go
 *   lane and manifest say so    <---------------   done
 *
 * What folds a segment into totals is handed over from above: the recorder reads no recording. All functions but those that say so are the
 * main thread's.
 */
#ifndef ADA_RECORDER_BOUND_H
#define ADA_RECORDER_BOUND_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct ada_bound;

struct ada_folded {
	uint64_t aged;	   /* calls and ends of the thread that are in totals now, all of them */
	uint64_t until_ns; /* time of the last event there */
};
/* Sums up a thread's segments before `border` in its totals, on the disk; `directory` is the thread's. The files stay. 0 or an error. */
typedef int ada_fold(const char *directory, uint32_t border, struct ada_folded *folded, struct ada_error *error);

struct ada_bound_options {
	const char *session;	/* its directory */
	uint64_t disk_limit;	/* bytes; 0: any */
	uint64_t max_age_ns;	/* 0: any */
	uint64_t segment_bytes; /* a file's, where the limit would allow more; 0: any */
	ada_fold *fold;
};

struct ada_bound_segment {
	uint64_t end_ns; /* of its last event */
	uint64_t bytes;	 /* about */
	uint32_t provider, thread, segment;
	bool last; /* of a thread that has ended: an empty segment takes its place */
};

struct ada_bound_job {			  /* segments on their way out, all of one thread */
	struct ada_bound_segment segment; /* the first of them */
	uint32_t border;		  /* the first that stays */
	bool last;			  /* `border` is an empty one, to be made */
	uint32_t tid;
	char directory[PATH_MAX]; /* the thread's */
	/* What came of it */
	int status;
	struct ada_folded folded;
	struct ada_error error;
};

int ada_bound_open(struct ada_bound **bound, const struct ada_bound_options *options); /* 0 or -errno */
void ada_bound_close(struct ada_bound *bound);					       /* NULL is fine */

/* In all of these bound NULL says that there is no limit. */
void ada_bound_closed(struct ada_bound *bound, const struct ada_bound_segment *segment); /* complete: it may go */
/* So many threads have events to write: a segment of each may have a sixteenth of the limit, shared out. */
void ada_bound_share(struct ada_bound *bound, size_t threads);
uint64_t ada_bound_segment_bytes(const struct ada_bound *bound); /* where a packed file ends; UINT64_MAX: anywhere */
uint64_t ada_bound_segment_ns(const struct ada_bound *bound);	 /* how long one lasts; UINT64_MAX: for good */
/* The oldest segment, where it has to go now; NULL: none has to, or enough are on their way. */
const struct ada_bound_segment *ada_bound_next(const struct ada_bound *bound, uint64_t now_ns);
/* That one goes, with ada_bound_send, and so do those behind it of the same thread that are the oldest. */
const struct ada_bound_job *ada_bound_go(struct ada_bound *bound, const char *directory, uint32_t tid);
void ada_bound_send(struct ada_bound *bound);
/* What has gone, one after the other; NULL: no more, or not yet. What failed will go later. */
const struct ada_bound_job *ada_bound_done(struct ada_bound *bound);
void ada_bound_wait(struct ada_bound *bound); /* until ada_bound_done has all */
/* There is too much, even without what is closed: open segments have to be closed. */
bool ada_bound_is_short(const struct ada_bound *bound);
void ada_bound_looked(struct ada_bound *bound);		   /* all that could be closed for that is: */
bool ada_bound_is_helpless(const struct ada_bound *bound); /* ... there was too much even so, and nothing that could go */
/* So many bytes are in a file now. Any thread. */
void ada_bound_wrote(struct ada_bound *bound, uint64_t bytes);
/* With what is on its way to the files, so many bytes, the limit is reached: nothing more should be written until something has gone. Unless
 * nothing can. */
bool ada_bound_is_full(const struct ada_bound *bound, uint64_t coming);
bool ada_bound_is_near(const struct ada_bound *bound); /* that may be so */

struct ada_bound_state {
	uint64_t disk_limit, max_age_ns; /* 0: any */
	uint64_t bytes;			 /* of the session, as last measured */
	uint64_t segments;		 /* that have gone */
};
struct ada_bound_state ada_bound_state(const struct ada_bound *bound);
#endif
