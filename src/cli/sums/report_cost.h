/* `ada report --cost`: what recording itself took of the program's time, and for which functions. */
#ifndef ADA_CLI_REPORT_COST_H
#define ADA_CLI_REPORT_COST_H
#include "cli/ground/answer.h"

/* Puts the answer: from the ledgers of the manifests, functions with the most events first, at most options->limit of them. Events are
 * not read. 0 or -ENOMEM. */
int ada_report_cost_put(struct ada_session *session, const struct ada_options *options, struct ada_output *output);
#endif
