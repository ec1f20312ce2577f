/* How long the calls of each function ran on a CPU and how long they were off it: of the same calls as total_ns, recursion once.
 *
 *   on + off   = end - start of each of them, summed up (with what ada itself took meanwhile)
 *
 * Of a function none of it is known where it isn't known of one of its calls: of a thread without facts of the scheduler, where records
 * are missing, or of calls that have gone with an aged segment. */
#ifndef ADA_QUERY_CPU_H
#define ADA_QUERY_CPU_H
#include "query/tally/stats.h"

/* Fills in on_ns, off_ns and cpu_known of the functions. Reads the recording once more where it has a scheduling lane. */
int ada_stats_add_cpu(struct ada_stats *stats, const struct ada_selection *selection, struct ada_error *error);
#endif
