/* Between replay.c (events in order) and the files that judge them. */
#ifndef ADA_QUERY_REPLAY_INTERNAL_H
#define ADA_QUERY_REPLAY_INTERNAL_H
#include "abi/rules.h"
#include "atf.h"
#include "base/hash.h"
#include "query/replay/replay.h"

struct ada_replay_process { /* what the rule remembers in one process */
	struct ada_rule_state state;
	uint64_t *samples;	/* of kinds that need them; NULL: none yet */
	uint64_t *spans;	/* of spans: what has begun; NULL: nothing yet */
	struct ada_table types; /* argument, result: enum ada_value_type by function id */
	struct ada_table begin_types;
};

struct ada_replay_track { /* a thread */
	struct ada_replay_process *process;
	ADA_ARRAY(uint64_t) functions; /* of the open calls, by depth */
	uint32_t descent;	       /* of a rule of depth: struct ada_rule_event */
	uint32_t unwinding;	       /* depth of the frame that an exception left last; 0: no exception is under way */
};

struct ada_replay_event {
	const struct ada_moment *moment;
	struct ada_replay_track *track;
	unsigned sides;		     /* enum ada_trigger_side: which of the rule's names mean its function */
	const struct ada_rule *rule; /* in ns for ticks */
	struct ada_rule_event seen;  /* of the event, what rules look at: set where it may fit */
	/* Rules of values: */
	struct ada_rule typed;	  /* for this function's value */
	struct atf_detail detail; /* where that is */
};

/* Whether it fits event->rule: then *hit has what was compared. *untold is raised where that can't be said. */
bool ada_replay_fits(const struct ada_trigger *trigger, struct ada_replay_event *event, struct ada_replay_hit *hit, uint64_t *untold);
/* value.c: what a rule of an argument or a result is about, of spans what this side compares. False: it was not persisted, or is of another kind of event. */
bool ada_replay_value(const struct ada_trigger *trigger, struct ada_replay_event *event, enum ada_trigger_side side, uint64_t *untold);
bool ada_replay_register(const struct ada_replay_event *event, uint64_t *raw); /* that it is in */
void ada_replay_show(const struct ada_rule *rule, uint64_t raw, struct ada_replay_hit *hit);
/* span.c: a call that begins or ends one, or both. True: it ended one that fits; *hit has the time. */
bool ada_replay_span(const struct ada_trigger *trigger, struct ada_replay_event *event, struct ada_replay_hit *hit, uint64_t *untold);
/* moments.c: rules that name no event (time, crash, signal, exit): calls `fits` for each moment, in order within a process. */
typedef void ada_replay_moment(void *context, const struct ada_replay_hit *hit);
void ada_replay_moments(const struct ada_replay *replay, ada_replay_moment *fits, void *context);
#endif
