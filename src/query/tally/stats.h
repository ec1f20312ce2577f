/* Per function: how often it was called and how long that took.
 *
 * A call counts where it begins within the selection's time, with its whole duration, also beyond that time.
 *   calls      every CALL
 *   total_ns   sum of durations, recursion once: a call below another of the same function on the same thread adds nothing
 *   self_ns    sum of durations without those of the calls directly below
 *   min, mean, p50, p90, p99, max   of the durations of all calls, recursive ones too; percentiles within 0.8 %
 *              (query/tally/histogram.h), the others exact; mean rounded down
 * A call during which events were lost counts in calls, total and self, but in none of the others: it may have been several. The time of
 * the gap is in no function's self. A call that is still open lasts until the process's end or, while it is being recorded,
 * until now. A call
 * whose end was not recorded (events were lost, or its call site has no return stub) counts in calls and `unknown` alone. The same
 * function of the same module is one row, in however many threads and processes it ran.
 */
#ifndef ADA_QUERY_STATS_H
#define ADA_QUERY_STATS_H
#include "query/session/selection.h"
#include "query/tally/histogram.h"

struct ada_function_stats {
	/* Each call touches the fields up to durations.max: they lie on one line of a CPU's cache. */
	uint64_t calls;	 /* while counting: calls that durations.count leaves out */
	uint64_t active; /* while counting: calls open on the thread being read */
	uint64_t total_ns, self_ns;
	struct ada_histogram durations;
	struct ada_module *module; /* NULL: the recording knows none */
	uint64_t function_id;	   /* in one of the processes */
	uint64_t key;		   /* as of ada_process_function_key */
	uint64_t unknown;	   /* calls without a known end */
	uint64_t on_ns, off_ns;	   /* filled in by ada_stats_add_cpu alone (query/sums/cpu.h), where cpu_known */
	bool cpu_known;
	unsigned int muted; /* filled in by ada_stats_mark_muted alone (query/sums/muted.h) */
} __attribute__((aligned(64)));

struct ada_stats {
	/* By their keys; behind them those that ada_stats_mark_muted has added. */
	ADA_ARRAY(struct ada_function_stats *) functions;
	bool muted; /* it has marked any */
	struct ada_completeness completeness;
};

/* Reads with so many workers at a time (0: one a CPU). They share a long thread, and the answer is the same to the bit. -EINTR soon after
 * ada_interrupted(). */
int ada_stats_compute(struct ada_stats *stats, const struct ada_selection *selection, unsigned int workers, struct ada_error *error);
/* Threads of more events than `piece_events` in pieces of so many: for tests. */
int ada_stats_compute_pieces(struct ada_stats *stats, const struct ada_selection *selection, unsigned int workers, uint64_t piece_events,
			     struct ada_error *error);
/* The same, counting events also where files have their sums (tally/sums.h): for those who check these. */
int ada_stats_compute_anew(struct ada_stats *stats, const struct ada_selection *selection, struct ada_error *error);
const struct ada_function_stats *ada_stats_of(const struct ada_stats *stats, uint64_t key); /* NULL: it has no call */
void ada_stats_free(struct ada_stats *stats);
#endif
