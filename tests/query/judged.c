/* Asking src/agent/judge. */
#include "judged.h"
#include <stdlib.h>
#include "../agent/judge_fixture.h"

struct judged {
	struct ada_shm *shm;
};

#define BEGINS (FUNCTION + 2)
#define BOTH (FUNCTION + 3)

static void begins_put(const struct ada_rule *begins)
{
	struct ada_rule *put = rule_put(1, ADA_RULE_SPAN_BEGIN);
	uint16_t *classes = (uint16_t *)((char *)table(0) + ADA_POLICY_CLASSES);
	uint64_t *masks = (uint64_t *)((char *)table(0) + ADA_POLICY_MASKS);

	*put = *begins;
	put->incarnation = 1;
	masks[3] = 1;
	masks[4] = 2;
	masks[5] = 3;
	classes[BEGINS] = 4;
	classes[BOTH] = 5;
}

struct judged *judged_open(const struct ada_rule *rule, const struct ada_rule *begins)
{
	struct judged *judged = calloc(1, sizeof *judged);
	struct ada_rule *put;

	begin(NULL);
	ada_judge_forked(); /* knows nothing of the rule before */
	judged->shm = shm;
	put = rule_put(0, rule->kind);
	*put = *rule;
	put->incarnation = 1;
	if (begins)
		begins_put(begins);
	if (put->flags & ADA_RULE_GLOBAL) {
		table(0)->global_calls = 1;
		table(0)->depth_limit = put->operand.u;
	}
	return judged;
}

bool judged_marks(struct judged *judged, const struct judged_event *event)
{
	struct ada_judged asked = { .counter = event->counter,
				    .start_counter = event->start_counter,
				    .return_address = event->caller,
				    .number = event->begins ? (event->named ? BOTH : BEGINS) :
					      event->named  ? FUNCTION :
							      FUNCTION + 1,
				    .depth = event->depth,
				    .thread = event->thread,
				    .kind = event->kind,
				    .seq = 1,
				    .slot = 0x7000,
				    .registers = event->captured ? &registers : NULL,
				    .xmm0 = event->xmm0 };

	shm = judged->shm;
	registers = (struct ada_registers){ .rdi = event->arguments[0],
					    .rsi = event->arguments[1],
					    .rdx = event->arguments[2],
					    .rcx = event->arguments[3],
					    .r8 = event->arguments[4],
					    .r9 = event->arguments[5],
					    .rax = event->rax };
	shm->marks.tail = shm->marks.head;
	return marks_for(&asked);
}

void judged_close(struct judged *judged)
{
	shm = judged->shm;
	end(NULL);
	free(judged);
}
