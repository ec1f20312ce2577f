/* Which functions' hooks were out for a time (`ada trace --budget`): their calls of that time are in no file, and their time is their
 * callers' own. As the manifests have them. */
#ifndef ADA_QUERY_MUTES_H
#define ADA_QUERY_MUTES_H
#include "query/session/session.h"

struct ada_muted {
	uint64_t function_id;
	uint64_t from_ns, to_ns; /* to UINT64_MAX: until the process's end */
	double calls_a_second;	 /* that it had made until then */
};

/* Stretch number i of a process; false: it has no more. What is written there and makes no sense is nothing: from 0 to 0. */
bool ada_process_muted(const struct ada_process *process, size_t i, struct ada_muted *muted);
/* Adds to *functions how many functions of the process were muted for some of the time [from, to), and to *calls how many calls that
 * makes, at the rates that they had before. */
void ada_process_count_muted(const struct ada_process *process, uint64_t from_ns, uint64_t to_ns, uint64_t *functions, double *calls);
#endif
