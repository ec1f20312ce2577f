/* Between replay.c (events in order) and the files that judge them. */
#ifndef ADA_QUERY_REPLAY_INTERNAL_H
#define ADA_QUERY_REPLAY_INTERNAL_H
#include "base/hash.h"
#include "query/replay/replay.h"

struct ada_replay_process { /* the rule's state in one process */
	const struct ada_process *process;
	struct ada_rule_state gate;
	bool above; /* percentile, rate: the bound is exceeded now */
	uint64_t samples, exceeding;
	ADA_ARRAY(uint64_t) ring; /* rate: times of the last calls; percentile: bits, 1 = exceeds */
	struct ada_table callers; /* new-caller */
	struct ada_table types;	  /* argument, result: enum ada_value_type by function id */
};

struct ada_replay_track { /* a thread */
	struct ada_replay_process *state;
	ADA_ARRAY(uint64_t) functions; /* of the open calls, by depth */
	uint32_t unwinding;	       /* depth of the frame that an exception left last; 0: no exception is under way */
};

struct ada_replay_event {
	const struct ada_moment *moment;
	struct ada_replay_track *track;
	bool named; /* the rule names its function */
};

/* Whether an event fits the rule: 1: fits, and the hit gets its values; 0: doesn't; -ENOMEM. *untold is raised where the files can't
 * tell. */
int ada_replay_judge(const struct ada_trigger *trigger, const struct ada_replay_event *event, struct ada_replay_hit *hit, uint64_t *untold);
/* value.c: arguments and results. */
int ada_replay_judge_value(const struct ada_trigger *trigger, const struct ada_replay_event *event, struct ada_replay_hit *hit,
			   uint64_t *untold);
/* moments.c: rules that name no event (time, crash, signal, exit): calls `fits` for each moment, in order within a process. */
typedef void ada_replay_moment(void *context, const struct ada_replay_hit *hit);
void ada_replay_moments(const struct ada_replay *replay, ada_replay_moment *fits, void *context);
#endif
