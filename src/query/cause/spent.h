/* How a thread's time is added up: spent.c by its calls, spent_off.c by the switches. */
#ifndef ADA_QUERY_CAUSE_SPENT_H
#define ADA_QUERY_CAUSE_SPENT_H
#include "query/cause/internal.h"

struct ada_tries { /* attempts at an object that was not given back since */
	uint64_t object, function_id;
	uint64_t count, start_ns, end_ns, position;
};
struct ada_again { /* waits for a condition, in none of which it came true but perhaps in the last: the mutex was not given back between */
	uint64_t object, mutex, function_id;
	uint64_t count, start_ns, end_ns, position;
	bool open;
};
struct ada_preemptor {
	uint32_t tid;
	uint64_t ns;
};
struct ada_adding {
	struct ada_cause_reader *reader;
	struct ada_spending *spending;
	struct ada_calls calls;
	struct ada_table numbers; /* of the parts, by what they are */
	ADA_ARRAY(struct ada_spent) parts;
	uint64_t recent[3], recent_number; /* the part that was asked for last: a loop asks for the same one again and again */
	ADA_ARRAY(struct ada_tries) tries;
	uint64_t tried_in; /* the CALL, plus one, in which an object was tried last, and whether that or one around it waits */
	bool tried_in_wait;
	ADA_ARRAY(struct ada_muted) muted_waits; /* stretches in which functions that wait are left out of the recording */
	bool muted_known;
	ADA_ARRAY(struct ada_again) again;
	const struct ada_sched_thread *sched; /* NULL: nothing is known of when the thread ran */
	size_t spell;			      /* of it: the first that isn't told whole */
	uint64_t switched_ns;		      /* up to which they are told */
	ADA_ARRAY(struct ada_preemptor) preemptors;
	uint64_t rivals_ns; /* of the piece of a spell that is being told: what threads of the session had */
	uint64_t from_ns, to_ns;
	bool done; /* the call has ended */
	int result;
};

/* Adds `ns` to the part that is like this one, of which `call` may be the longest spell. */
void ada_spent_add(struct ada_adding *adding, const struct ada_spent *like, const struct ada_call *call, uint64_t ns);

/* Nothing is known of a time in which records are missing, or that begins before the first. */
void ada_spent_begin_switches(struct ada_adding *adding, uint64_t to_ns);
/* Tells the spells, and parts of them, up to that time: no event lies in them, so the calls open now are those open then. */
void ada_spent_take_switches(struct ada_adding *adding, uint64_t to_ns);
/* The thread of the session that had the CPU for longest, where such threads had it for half of the time at least. */
void ada_spent_find_preemptor(const struct ada_adding *adding, struct ada_spending *spending);
#endif
