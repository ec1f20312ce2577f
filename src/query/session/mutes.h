/* Which functions' hooks were out for a time (`ada trace --budget`): their calls of that time are in no file, and their time is their
 * callers' own. As the manifests have them. */
#ifndef ADA_QUERY_MUTES_H
#define ADA_QUERY_MUTES_H
#include "query/session/session.h"

struct ada_muted {
	uint64_t function_id;
	bool filtered;		 /* of a mutex's function: calls that had nobody to wait for; else all calls */
	uint64_t from_ns, to_ns; /* to UINT64_MAX: until the process's end */
	double calls_a_second;	 /* that it had made until then */
};

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
#endif
