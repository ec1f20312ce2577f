/* How much of a session may stay on the disk: --disk-limit, --max-age, --detail-limit. The oldest segments go, once what they added up to is
 * on the disk.
 *
 *   main thread                                    bound's own
 *   a segment is closed: listed, by its end        how large the session is, ten times a second
 *   the oldest one has to go    --------------->   its sums into THREAD/totals, on the disk; then its files go, or stay as kept.N.atp
 *   lane and manifest say so    <---------------   done
 *
 * Jobs go and come back one by one, in order, sixteen at most on their way. Of a thread's, those behind one that failed fail with it.
 *
 * A segment that a window wants is kept: it is in totals as any other, and counts there alone, but its events and their detail can be read
 * still. Once what is kept is more than half of the limit, the oldest windows are given up, and what no other wants goes.
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
#include "base/array.h"
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
	uint64_t detail_limit;	/* bytes of detail files; 0: any */
	uint64_t max_age_ns;	/* 0: any */
	uint64_t segment_bytes; /* a file's, where the limit would allow more; 0: any */
	ada_fold *fold;
};

struct ada_bound_segment {
	uint64_t start_ns, end_ns; /* of its first and last event */
	uint64_t bytes;		   /* about */
	uint32_t provider, thread, segment;
	bool last; /* of a thread that has ended: an empty segment takes its place */
};

#define ADA_BOUND_TOGETHER 4u /* segments of a thread that go in one step, where they are the oldest */

enum ada_bound_what {
	ADA_BOUND_AGE,	  /* segments go into totals */
	ADA_BOUND_DROP,	  /* one that was kept goes */
	ADA_BOUND_DETAIL, /* its detail alone goes */
};

struct ada_bound_records { /* of a window, that have gone */
	uint32_t window;
	uint64_t count;
};

struct ada_bound_job { /* segments on their way out, all of one thread, side by side */
	enum ada_bound_what what;
	struct ada_bound_segment segments[ADA_BOUND_TOGETHER];
	bool keeps[ADA_BOUND_TOGETHER]; /* a window wants it; whoever gives the job says so */
	uint32_t count;
	uint32_t border; /* the first that stays */
	bool last;	 /* `border` is an empty one, to be made */
	uint64_t leaves; /* bytes, about */
	uint32_t tid;
	char directory[PATH_MAX]; /* the thread's */
	/* What came of it */
	int status;
	uint64_t freed; /* bytes */
	struct ada_folded folded;
	ADA_ARRAY(struct ada_bound_records) records;
	struct ada_error error;
};

int ada_bound_open(struct ada_bound **bound, const struct ada_bound_options *options); /* 0 or -errno */
void ada_bound_close(struct ada_bound *bound);					       /* NULL is fine */

/* In all of these bound NULL says that there is no limit. */
void ada_bound_closed(struct ada_bound *bound, const struct ada_bound_segment *segment); /* complete: it may go */
/* So many threads have events to write, and so many of these go on doing so: a segment of each may have a sixteenth of the limit, shared out. */
void ada_bound_share(struct ada_bound *bound, size_t threads, size_t steady);
uint64_t ada_bound_segment_bytes(const struct ada_bound *bound); /* where a packed file ends; UINT64_MAX: anywhere */
uint64_t ada_bound_segment_ns(const struct ada_bound *bound);	 /* how long one lasts; UINT64_MAX: for good */
/* The oldest segment, where it has to go now; NULL: none has to, or enough are on their way. */
const struct ada_bound_segment *ada_bound_next(const struct ada_bound *bound, uint64_t now_ns);
/* That one goes, with ada_bound_send, and so do those behind it of the same thread that are the oldest. */
struct ada_bound_job *ada_bound_go(struct ada_bound *bound, const char *directory, uint32_t tid);
/* The oldest segment that is kept, where there is too much of these; NULL: there isn't. */
const struct ada_bound_segment *ada_bound_kept_over(const struct ada_bound *bound);
/* So many bytes more, or less, are in files of the scheduling lanes that windows keep, which count as segments that are kept do; and in such
 * that go soon. Any thread. */
void ada_bound_lanes(struct ada_bound *bound, int64_t kept, int64_t leaving);
/* The nth that is kept; NULL: no more. */
const struct ada_bound_segment *ada_bound_kept(const struct ada_bound *bound, size_t number);
/* So many bytes more are in the detail file of a segment, which may be one that is kept. */
void ada_bound_detail_wrote(struct ada_bound *bound, const struct ada_bound_segment *segment);
/* Detail of a segment is whole, in a file of so many bytes. */
void ada_bound_detailed(struct ada_bound *bound, const struct ada_bound_segment *segment);
uint64_t ada_bound_detail_bytes(const struct ada_bound *bound, size_t threads); /* where a file of detail ends; UINT64_MAX: anywhere */
/* The segment whose detail is the oldest, where there is too much of it, with `open` bytes in files that are being written. */
const struct ada_bound_segment *ada_bound_detail_over(const struct ada_bound *bound, uint64_t open);
/* A segment of one of these goes, with ada_bound_send. False: not now, enough is on its way. */
bool ada_bound_drop(struct ada_bound *bound, enum ada_bound_what what, const struct ada_bound_segment *segment, const char *directory,
		    uint32_t tid);
void ada_bound_send(struct ada_bound *bound);
/* What has gone, one after the other, each until the next call; NULL: no more, or not yet. What failed will go later. */
const struct ada_bound_job *ada_bound_done(struct ada_bound *bound);
void ada_bound_wait(struct ada_bound *bound); /* until ada_bound_done has all, and the rest is measured */
/* There is too much, even without what is closed: open segments have to be closed. */
bool ada_bound_is_short(const struct ada_bound *bound);
void ada_bound_looked(struct ada_bound *bound); /* all that could be closed for that is: there may be too much even so */
/* The program isn't to wait for a limit that can't be kept, as what can't go takes most of it, or files that are being written take the rest:
 * it is doubled, as often as need be. True: it was. */
bool ada_bound_raise(struct ada_bound *bound);
/* So many bytes more are in files now; or less, of what a lane's thread removes. Any thread. */
void ada_bound_wrote(struct ada_bound *bound, int64_t bytes);
/* With what is on its way to the files, so many bytes, the limit is reached: nothing more should be written until something has gone. Unless
 * nothing can. */
bool ada_bound_is_full(const struct ada_bound *bound, uint64_t coming);
/* What isn't events, and is small, may be so many bytes more: it has the limit's last part for itself. Any thread. */
bool ada_bound_has_room(const struct ada_bound *bound, uint64_t bytes);
/* Up to when all segments that were closed have gone, and none is kept; 0: none has. Any thread. */
uint64_t ada_bound_gone_ns(const struct ada_bound *bound);
bool ada_bound_is_near(const struct ada_bound *bound); /* that may be so */

struct ada_bound_state {
	uint64_t disk_limit, detail_limit, max_age_ns; /* 0: any; disk_limit: as raised */
	uint64_t disk_limit_asked;
	uint64_t bytes;	   /* of the session, as last measured */
	uint64_t steady;   /* threads that go on writing */
	uint64_t lasting;  /* of the bytes: names, manifests, sums, what each thread has always */
	uint64_t segments; /* that have gone */
	uint64_t kept;	   /* bytes of those that windows keep, and of the lanes' files around them */
	uint64_t detail;   /* bytes of detail files that are whole */
};
struct ada_bound_state ada_bound_state(const struct ada_bound *bound);

/* --- bound_files.c: the thread's ------------------------------------------------------------------------------------------ */
struct ada_bound_size {
	uint64_t bytes, lasting; /* as of ada_bound_state */
};
struct ada_bound_size ada_bound_measure(const char *session);
void ada_bound_job_do(ada_fold *fold, struct ada_bound_job *job);
#endif
