/* Rules from one call to another, latency=F:N..G:M: the table of what has begun is the agent's own (abi/span.h). */
#include <stdlib.h>
#include "query/replay/internal.h"

static bool side_fits(struct ada_replay_event *event, struct ada_begun *span)
{
	struct ada_replay_process *process = event->track->process;
	uint64_t raw;

	if (!process->spans)
		process->spans = calloc(1, ADA_SPAN_BYTES);
	return process->spans && ada_replay_register(event, &raw) &&
	       ada_rule_spans(&process->state, process->spans, event->rule, &event->seen, raw, event->moment->thread->number, span);
}

bool ada_replay_span(const struct ada_trigger *trigger, struct ada_replay_event *event, struct ada_replay_hit *hit, uint64_t *untold)
{
	const struct ada_rule *rule = event->rule;
	struct ada_begun span;
	bool fits = false;

	if (event->seen.kind != ADA_EVENT_CALL)
		return false;
	if (event->sides & ADA_TRIGGER_ENDS && ada_replay_value(trigger, event, ADA_TRIGGER_ENDS, untold) && side_fits(event, &span)) {
		hit->kind = ADA_REPLAY_NS;
		hit->value.u = event->seen.counter - span.counter;
		fits = true;
	}
	if (event->sides & ADA_TRIGGER_BEGINS &&
	    ada_replay_value(trigger, event, ADA_TRIGGER_BEGINS, event->sides & ADA_TRIGGER_ENDS ? &(uint64_t){ 0 } : untold))
		side_fits(event, &span);
	event->rule = rule;
	return fits;
}
