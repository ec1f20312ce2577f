/* The judge of the traced process, asked about events that are given to it. Names nothing of the agent's, whose headers and the query's
 * don't go together. */
#ifndef ADA_TESTS_QUERY_JUDGED_H
#define ADA_TESTS_QUERY_JUDGED_H
#include <stdbool.h>
#include "abi/policy.h"

struct judged_event {
	uint64_t counter, start_counter; /* start_counter 0: not known */
	uint64_t caller;
	uint32_t kind, depth, thread;
	bool named;			  /* the rule names its function */
	bool begins;			  /* likewise; of spans, it begins; named: it ends */
	bool captured;			  /* what follows is known */
	uint64_t arguments[6], rax, xmm0; /* of a call; of a return; of both */
};

struct judged;
/* A process under that one rule. `begins`: its second form, of spans; else NULL. */
struct judged *judged_open(const struct ada_rule *rule, const struct ada_rule *begins);
bool judged_marks(struct judged *judged, const struct judged_event *event);
void judged_close(struct judged *judged);
#endif
