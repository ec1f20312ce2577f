/* The files of a lane, sched.atf or samples.atf, as they are written. Where a session may not grow, or become old, without end, the lane is a
 * list of files, sched.N.atf (atf/sched/sched_list.h), and its oldest go:
 *
 *   with the segments     what ends before the events that are there
 *   by --max-age          what is older
 *   by --disk-limit       what is above the lane's own share, so that it takes no events' room
 *
 * All functions are the lane's thread's, but those that say so. */
#ifndef ADA_RECORDER_SCHED_ROLL_H
#define ADA_RECORDER_SCHED_ROLL_H
#include <stdint.h>
#include "abi/sched.h"
#include "base/error.h"

struct ada_bound;
struct ada_roll;
struct ada_roll_options {
	const char *directory, *name; /* of the session; "sched" or "samples". They stay */
	uint32_t cpus, flags;	      /* of the header */
	struct ada_bound *bound;      /* NULL: there is no limit */
};
/* The first file; the main thread's. 0 or -errno with a line why not: then there is no file. */
int ada_roll_open(struct ada_roll **roll, const struct ada_roll_options *options, struct ada_error *error);
/* Raises times that fall. What can't be written isn't there, nor is what comes behind it. */
void ada_roll_append(struct ada_roll *roll, AtfSchedEvent *events, size_t count);
void ada_roll_turn(struct ada_roll *roll); /* lets go of what is due, a few times a second */
struct ada_roll_counts {
	uint64_t events, aged; /* in the files; gone with older ones */
	int failed;	       /* -errno: could not be written to its end; 0: it could */
};
struct ada_roll_counts ada_roll_count(const struct ada_roll *roll); /* any thread */
void ada_roll_end(struct ada_roll *roll);			    /* finishes the files; its thread is over */
void ada_roll_cancel(struct ada_roll *roll);			    /* in place of all else: no file is left */
void ada_roll_free(struct ada_roll *roll);
#endif
