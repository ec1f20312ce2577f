/* Threads that may do anything, and their statistics. */
#ifndef ADA_TESTS_QUERY_WILD_H
#define ADA_TESTS_QUERY_WILD_H
#include "fixture.h"

uint64_t wild_draw(uint64_t *state); /* a number of 64 bits, the next of the state's */
/* A process with two threads of `events` events and three segments each: stacks that they change between, each with its own depths; `odd` of
 * 10,000 events are none that a piece can count on its own. */
void wild_make(struct synth *synth, uint64_t seed, uint64_t odd, uint64_t events);
void wild_compute(struct ada_stats *stats, const struct ada_selection *selection, unsigned int workers, uint64_t piece);
void assert_same_stats(const struct ada_stats *a, const struct ada_stats *b); /* to the bit */
#endif
