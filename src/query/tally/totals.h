/* What a thread's oldest segments added up to: between totals files (abi/totals.h) and a tally. */
#ifndef ADA_QUERY_TOTALS_H
#define ADA_QUERY_TOTALS_H
#include "abi/totals.h"
#include "query/tally/tally.h"

/* Takes a tally that has read nothing yet, of a thread from its first event on, to where the segments that have gone ended. `counts`: what
 * they added up to is asked for; else only the calls that were open count as open. 0 or -ENOMEM. */
int ada_totals_take(struct ada_tally *tally, bool counts);
int ada_totals_add(struct ada_tally *tally, const AtfTotalsHeader *totals, bool counts); /* these, which are sound; NULL: none */
/* The totals of all that the tally has read, as a file: *bytes is malloc'ed. The header's own counts, times and segment are the caller's,
 * and given. 0 or -ENOMEM. */
int ada_totals_make(const struct ada_tally *tally, const AtfTotalsHeader *header, uint8_t **bytes, size_t *size);
#endif
