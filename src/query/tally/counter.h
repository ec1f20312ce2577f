/* Statistics by function, while they are counted: for stats.c. A hash table by key, with a cache by function id before it: with up to
 * some ten thousand functions, finding one is a load and a comparison. */
#ifndef ADA_QUERY_COUNTER_H
#define ADA_QUERY_COUNTER_H
#include "abi/record.h"
#include "base/hash.h"
#include "query/tally/stats.h"

#define ADA_COUNTER_PLACES (1u << 14)

struct ada_counter_place {
	uint64_t function_id;
	struct ada_function_stats *function;
}; /* NULL: empty */
struct ada_counter {
	const struct ada_process *process; /* the process whose function ids come next */
	struct ada_table numbers;	   /* by key: positions in `functions` */
	ADA_ARRAY(struct ada_function_stats *) functions;
	struct ada_counter_place *cache;
	bool cache_is_own;
};

/* Opens a counter with a cache of its own (0 or -ENOMEM), or with a lent cache of ADA_COUNTER_PLACES, until that is taken back. */
int ada_counter_open(struct ada_counter *counter);
void ada_counter_open_with(struct ada_counter *counter, struct ada_counter_place *cache);
void ada_counter_take_cache(struct ada_counter *counter); /* from then on only ada_counter_look_up finds */
void ada_counter_process(struct ada_counter *counter, const struct ada_process *process);
/* NULL: no memory. */
struct ada_function_stats *ada_counter_look_up(struct ada_counter *counter, uint64_t function_id);

static inline struct ada_function_stats *ada_counter_find(struct ada_counter *counter, uint64_t function_id)
{
	size_t place = (ADA_FUNCTION_SYMBOL(function_id) ^ ADA_FUNCTION_MODULE(function_id) * 0x9e5u) % ADA_COUNTER_PLACES;
	struct ada_counter_place *cached = &counter->cache[place];

	if (__builtin_expect(cached->function_id != function_id || !cached->function, 0))
		*cached = (struct ada_counter_place){ function_id, ada_counter_look_up(counter, function_id) };
	return cached->function;
}

/* Adds `from`, of the same session, to `into`; functions that `into` has not seen move over. 0 or -ENOMEM. */
int ada_counter_merge(struct ada_counter *into, struct ada_counter *from);
void ada_counter_close(struct ada_counter *counter);
#endif
