/* How much of the last second the next look counts. */
#ifndef ADA_CLI_LIVE_SPAN_H
#define ADA_CLI_LIVE_SPAN_H
#include <stdint.h>

/* Looks may take 20 ms of counting each. All in ns: the span that the last look counted, with so many events, and what that took; `whole`:
 * the span that is wanted. Returns the next one: no longer than `whole`, and no shorter than a hundredth of it. */
uint64_t ada_span_next(uint64_t span_ns, uint64_t whole_ns, uint64_t cpu_ns, uint64_t events);
#endif
