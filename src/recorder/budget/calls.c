/* Calls that a function's words don't have, for they were made for the first time behind the stop that took these out: until they are there,
 * too, its hook lets them pass. */
#include "recorder/budget/lines.h"

void ada_calls_follow(struct ada_budget *budget, uint64_t now_ns)
{
	size_t functions = 0, calls = 0;

	if (now_ns < budget->start_ns + ada_calls_age(budget))
		return;
	budget->calls_age_ns = ADA_CALLS_GROW * (now_ns - budget->start_ns);
	ada_text_remember(&budget->text);
	for (size_t i = 0; i < budget->lines.count; i++) {
		struct ada_budget_line *line = &budget->lines.items[i];
		size_t count = line->words.items.count;

		if (!budget->functions.items[i].out || !line->found || line->whole || line->unfinished || line->words.filters)
			continue;
		functions++;
		ada_words_add(&line->words, &budget->text, line->function_id);
		if (line->words.items.count > count) {
			line->unfinished = ADA_VERDICT_LEAVE;
			line->reached = count;
			calls += line->words.items.count - count;
		}
	}
	ada_text_forget(&budget->text);
	ada_calls_found(budget, functions, calls);
}
