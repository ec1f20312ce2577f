/* Below a report: the library in whose functions much of the time went, where what these do was not recorded. */
#ifndef ADA_CLI_SUMS_LIBRARY_H
#define ADA_CLI_SUMS_LIBRARY_H
#include "base/output.h"
#include "query/tally/stats.h"

/* A sentence for text, with the option that records the library's own functions; nothing where there is none to tell of. 0 or -ENOMEM. */
int ada_library_put(const struct ada_stats *stats, const struct ada_session *session, struct ada_output *output);
#endif
