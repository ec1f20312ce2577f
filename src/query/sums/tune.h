/* Which functions a recording could do without, so that recording costs no more than is allowed.
 *
 * A function's price is what its events took. What it says is its own time: functions whose calls are the shortest say least, so they go
 * first, among those that make a thousandth of all events or more, until the rest costs what is allowed. Without a function its time is
 * its caller's: `blurred_ns`.
 */
#ifndef ADA_QUERY_TUNE_H
#define ADA_QUERY_TUNE_H
#include "query/sums/tree.h"

struct ada_tune_function {
	struct ada_module *module;
	uint64_t function_id, key; /* as a node's */
	uint64_t calls, self_ns;
	uint64_t blurred_ns; /* of one that stays: time of those that go, which would count as its own */
	bool goes;
};

struct ada_tune {
	/* Those that go first, in the order in which they were chosen; then those that stay, most blurred first. */
	ADA_ARRAY(struct ada_tune_function) functions;
	size_t going;
	uint64_t calls, calls_left;
	bool enough; /* what is left costs no more than allowed */
};

/* `calls_allowed`: that may be left. 0 or -ENOMEM. */
int ada_tune_compute(struct ada_tune *tune, const struct ada_tree *tree, uint64_t calls_allowed);
void ada_tune_free(struct ada_tune *tune);
#endif
