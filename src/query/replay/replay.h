/* A rule replayed over a stored session: when it would have marked (`ada trigger test`).
 *
 * By the same code as in the agent (src/abi/rules.h), with what the files hold: calls and their times are all in the index;
 * arguments and results are in the detail of the windows that were persisted, and elsewhere can't be told; CPU time and memory
 * were not recorded. Callers are told apart by their function, where the agent goes by the return address.
 * State is a process's own; processes, threads and events come in the order of time.
 */
#ifndef ADA_QUERY_REPLAY_H
#define ADA_QUERY_REPLAY_H
#include "query/calls/timeline.h"
#include "trigger/trigger.h"

enum ada_replay_value {
	ADA_REPLAY_NO_VALUE,
	ADA_REPLAY_NUMBER,
	ADA_REPLAY_SIGNED,
	ADA_REPLAY_REAL,
	ADA_REPLAY_NS,
	ADA_REPLAY_NAME /* of the caller */
};

struct ada_replay_hit {
	uint64_t ns;
	const struct ada_process *process;
	const struct ada_thread *thread; /* NULL: of none */
	uint64_t index_seq;		 /* UINT64_MAX: no event */
	uint64_t function_id;		 /* of an event */
	enum ada_replay_value kind;
	union {
		uint64_t u;
		int64_t i;
		double f;
	} value; /* NAME: a function id */
};

struct ada_replay {
	const struct ada_selection *selection;
	const struct ada_trigger *trigger;
	void (*found)(void *context, const struct ada_replay_hit *hit);
	void *context;
	/* The answer */
	uint64_t matches, marks; /* events that fit; how many of them after, every and limit let mark */
	uint64_t untold;	 /* events whose values were not persisted */
	struct ada_completeness completeness;
};
/* -ENOTSUP and one line where the session can't tell about this kind of rule at all. */
int ada_replay_run(struct ada_replay *replay, struct ada_error *error);
#endif
