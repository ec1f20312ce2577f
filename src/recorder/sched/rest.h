/* When the scheduling lane is to rest: a program that blocks every few microseconds pays more for its switches than a budget allows. Pure
 * arithmetic over the lane's own records, which say how long the program ran: knows no ring, and no clock of its own.
 *
 *   records * ADA_SCHED_RECORD_NS / time on the CPUs  >  half of the budget  --->  rest for 5 s, and look again; still: twice as long
 */
#ifndef ADA_RECORDER_SCHED_REST_H
#define ADA_RECORDER_SCHED_REST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "abi/sched.h"

/* What a record costs: half of what a round of two processes takes longer, of which one is followed (`bench/cause/run`: .85 us; between two threads
 * of one process it is half as much), and .14 us of the lane's own thread. */
#define ADA_SCHED_RECORD_NS 1000.0

struct ada_sched_rest {
	double budget;	 /* --budget: share of the program's own time; 0: the lane never rests */
	uint64_t *on_ns; /* by CPU as it is watched: since when a thread of the program has been on it; 0: none is. The caller's */
	size_t cpus;
	/* Begins with zeros */
	uint64_t records, ran_ns; /* since the last look */
	uint64_t look_ns;	  /* the next look, or the end of the rest, is not before */
	uint64_t pause_ns;	  /* of the last rest; 0: there was none for long */
	uint64_t since_ns;	  /* since when it has been resting, or not */
	bool rests;
	double share; /* as of the last look, what the lane costs; 0 while it rests */
};
/* A record came from the ring of that CPU. Their order is each CPU's own. */
void ada_sched_rest_note(struct ada_sched_rest *rest, size_t cpu, const AtfSchedEvent *event);
/* All records up to now are noted. Returns whether `rests` has changed. */
bool ada_sched_rest_look(struct ada_sched_rest *rest, uint64_t now_ns);
/* It was to come back now, and can't: the rest that began at `since_ns` goes on. */
void ada_sched_rest_again(struct ada_sched_rest *rest, uint64_t since_ns, uint64_t now_ns);
#endif
