/* Which functions' hooks were out for a time (`ada trace --budget`): their calls of that time are in no file, and their time is their
 * callers' own. As the manifests have them. */
#ifndef ADA_QUERY_MUTES_H
#define ADA_QUERY_MUTES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/array.h"

struct ada_process;
struct ada_muted {
	uint64_t function_id;
	bool filtered;		 /* of a mutex's function: calls that had nobody to wait for; else all calls */
	uint64_t from_ns, to_ns; /* to UINT64_MAX: until the process's end */
	double calls_a_second;	 /* that it had made until then */
};

/* Whether that was so for some of the time [from, to). */
static inline bool ada_muted_within(const struct ada_muted *muted, uint64_t from_ns, uint64_t to_ns)
{
	return muted->from_ns < to_ns && muted->to_ns > from_ns;
}

/* Of a process: a budget makes thousands in an hour, and a question asks of all of them. */
struct ada_mutes {
	ADA_ARRAY(struct ada_muted) all;      /* in the manifest's order */
	ADA_ARRAY(struct ada_muted) filtered; /* those, by from_ns; to_ns is the latest end of this one and of all before it */
};
/* From the process's manifest. 0 or -ENOMEM. */
int ada_mutes_read(struct ada_process *process);
void ada_mutes_free(struct ada_mutes *mutes);

/* Stretch number i of a process; false: it has no more. What is written there and makes no sense is nothing: from 0 to 0. */
bool ada_process_muted(const struct ada_process *process, size_t i, struct ada_muted *muted);
struct ada_muted_sum {
	uint64_t functions,
		filtered; /* how many; and of these, how many functions of mutexes whose uncontended calls alone were left out */
	double calls;	  /* that this makes, at the rates that they had before */
};
/* Adds what of the process was muted for some of the time [from, to). */
void ada_process_count_muted(const struct ada_process *process, uint64_t from_ns, uint64_t to_ns, struct ada_muted_sum *sum);
/* Whether calls of mutexes' functions may be missing between the two times. */
bool ada_process_filtered(const struct ada_process *process, uint64_t from_ns, uint64_t to_ns);
/* Until when they were the last time before `ns`; `ns`: they still were; 0: never. */
uint64_t ada_process_filtered_until(const struct ada_process *process, uint64_t ns);
#endif
