#include "cli/live/span.h"

#define LOOK_CPU_NS 20000000.
#define EVENTS_MIN (1u << 19) /* some 3 ms of counting */
#define SHARE_MIN 100

uint64_t ada_span_next(uint64_t span_ns, uint64_t whole_ns, uint64_t cpu_ns, uint64_t events)
{
	double span = (double)span_ns, whole = (double)whole_ns, wanted = span * LOOK_CPU_NS / (double)(cpu_ns ? cpu_ns : 1);

	/* It lies behind what the recorder has come to. */
	if (!events)
		return whole_ns;
	/* Where so few were counted the time went into thousands of threads' files: a shorter span would save none of it. */
	if (events < EVENTS_MIN)
		wanted = 2 * span;
	/* Longer only step by step: a quiet moment says little of the next. */
	if (wanted > 1.25 * span)
		wanted = 1.25 * span;
	if (wanted < whole / SHARE_MIN)
		wanted = whole / SHARE_MIN;
	return wanted < whole ? (uint64_t)wanted : whole_ns;
}
