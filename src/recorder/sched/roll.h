/* The files of a lane, sched.atf or samples.atf, as they are written. Where a session may not grow, or become old, without end, the lane is a
 * list of files, sched.N.atf (atf/sched/sched_list.h), and its oldest go:
 *
 *   with the segments     what ends before the events that are there
 *   by --max-age          what is older
 *   by --disk-limit       what is above the lane's own share, so that it takes no events' room
 *
 * Around a window a file stays: it leaves the list under another name. Only the main thread knows the windows: it says of each file whether
 * one wants it, from when it is finished until it leaves the list, and again when windows are given up.
 *
 *   sched.4.atf   leaves the list: no window wants what lies in its time   ->  it goes
 *                                  one does                                ->  it becomes sched.kept.4.atf
 *                                                                              the window is given up, or there is too much: it goes, too
 *
 * All functions are the lane's thread's, but those that say so. */
#ifndef ADA_RECORDER_SCHED_ROLL_H
#define ADA_RECORDER_SCHED_ROLL_H
#include <stdbool.h>
#include <stdint.h>
#include "abi/sched.h"
#include "base/error.h"

struct ada_bound;
struct ada_roll;
struct ada_roll_options {
	const char *directory, *name; /* of the session; "sched" or "samples". They stay */
	uint32_t cpus, flags;	      /* of the header */
	struct ada_bound *bound;      /* NULL: there is no limit */
	bool keeps;		      /* the main thread is asked, see ada_roll_answer; else nothing stays */
};
/* The first file; the main thread's. 0 or -errno with a line why not: then there is no file. */
int ada_roll_open(struct ada_roll **roll, const struct ada_roll_options *options, struct ada_error *error);
/* Raises times that fall. What can't be written isn't there, nor is what comes behind it. */
void ada_roll_append(struct ada_roll *roll, AtfSchedEvent *events, size_t count);
void ada_roll_turn(struct ada_roll *roll); /* lets go of what is due, a few times a second */
enum ada_roll_wish {
	ADA_ROLL_ASKED,	 /* the main thread has said nothing yet */
	ADA_ROLL_GOES,	 /* no window wants it */
	ADA_ROLL_AROUND, /* it is around one: it stays, and is the first to go where there is too much */
	ADA_ROLL_OWN,	 /* a part of one lies in its time */
};
/* What windows want of what lies between the two times. */
struct ada_roll_wants {
	enum ada_roll_wish (*wants)(void *context, uint64_t from_ns, uint64_t to_ns);
	void *context;
	uint64_t now_ns;
	bool anew; /* windows were given up: what is kept is looked at once more */
};
/* The main thread's, in each of its turns, also behind ada_roll_end. */
void ada_roll_answer(struct ada_roll *roll, const struct ada_roll_wants *wants);
struct ada_roll_counts {
	uint64_t events, aged; /* in the files; gone with older ones */
	int failed;	       /* -errno: could not be written to its end; 0: it could */
};
struct ada_roll_counts ada_roll_count(const struct ada_roll *roll); /* any thread */
void ada_roll_end(struct ada_roll *roll);			    /* finishes the files; its thread is over */
void ada_roll_cancel(struct ada_roll *roll);			    /* in place of all else: no file is left */
void ada_roll_free(struct ada_roll *roll);
#endif
