/* Tells the user of rules and captures that name no function, or a function that can't be hooked. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "plan/ground/refusal.h"
#include "recorder/host/say.h"
#include "recorder/policy/policy_state.h"
#include "recorder/state/state.h"

void ada_policy_tell(struct ada_error *first, const char *format, ...)
{
	struct ada_error said = { "" };
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(said.text, sizeof said.text, format, arguments);
	va_end(arguments);
	ada_say("ada: %s\n", said.text);
	ada_error_set(first, EAGAIN, "%s", said.text);
}

/* Why this function has no hook of its own; ADA_REFUSAL_NONE: it has, or takes none. */
static enum ada_refusal refusal_of(const struct ada_plan_function *function)
{
	if (function->flags & ADA_FUNCTION_IFUNC)
		return ADA_REFUSAL_NONE;
	return function->flags & ADA_FUNCTION_INTERCEPT ? ADA_REFUSAL_INTERCEPTED : (enum ada_refusal)function->refusal;
}

/* `text`: the rule or option that names the function. */
static void warn_refused(const struct ada_policy_image *image, const struct ada_plan *plan, uint32_t number, const char *text,
			 struct ada_error *first)
{
	const struct ada_plan_function *function = &ada_plan_functions(plan)[number];
	enum ada_refusal refusal = refusal_of(function);

	if (refusal)
		ada_policy_tell(first, "%s: %s in %s can't be hooked at its entry (%s: %s)", text, ada_plan_string(plan, function->name),
				image->path ? image->path : "a module", ada_refusal_key(refusal), ada_refusal_text(refusal));
}

void ada_policy_warn_refused(struct ada_policy_image *image, const struct ada_plan *plan, struct ada_error *first)
{
	for (size_t i = 0; i < image->matches.count; i++) {
		struct ada_policy_match *match = &image->matches.items[i];

		for (size_t j = 0; j < match->functions.count && !match->told; j++)
			if (match->functions.items[j] & ADA_POLICY_LITERAL)
				warn_refused(image, plan, ADA_POLICY_NUMBER(match->functions.items[j]), match->rule->trigger->text, first);
		match->told = true;
	}
	for (size_t i = 0; i < image->captured.count; i++) {
		struct ada_policy_captured *captured = &image->captured.items[i];

		if (captured->named)
			warn_refused(image, plan, captured->function, "--capture", first);
		captured->named = false;
	}
}

/* Offers names as people write them: also demangled without parameters, where that differs. A clone of what was asked for, whose arguments
 * nobody knows, is the nearest of all: `near`. */
static void offer_names(struct ada_nearest *nearest, const struct ada_policy_tables *tables, const struct ada_pattern *pattern, char *near,
			size_t size)
{
	for (size_t i = 0; i < tables->modules.count; i++) {
		const struct ada_plan *plan = tables->modules.items[i].image->plans.items[0];
		const struct ada_plan_function *functions = ada_plan_functions(plan);

		for (uint32_t j = 0; j < ada_plan_header(plan)->function_count; j++) {
			const char *name = ada_plan_string(plan, functions[j].name);
			struct ada_names names;

			if (!*name)
				continue;
			ada_names_open(&names, name, NULL);
			ada_nearest_offer_function(nearest, names.brief	    ? names.brief :
							    names.bare	    ? names.bare :
							    names.demangled ? names.demangled :
									      names.mangled);
			if (!*near && ada_pattern_matches(pattern, &names))
				snprintf(near, size, "%s", names.demangled ? names.demangled : names.mangled);
			ada_names_close(&names);
		}
	}
}

static void warn_pattern(const struct ada_policy_rule *rule, const struct ada_pattern *pattern, const struct ada_policy_tables *tables,
			 struct ada_error *first)
{
	char near[256] = "";
	struct ada_nearest *nearest = pattern->kind == ADA_PATTERN_LITERAL && tables ? ada_nearest_open(pattern->text) : NULL;

	if (nearest) {
		offer_names(nearest, tables, pattern, near, sizeof near);
		if (!*near)
			ada_nearest_text(nearest, near, sizeof near);
		ada_nearest_close(nearest);
	}
	if (pattern->kind == ADA_PATTERN_LITERAL)
		ada_policy_tell(first, "%s: no function is called %s%s%s: it may be loaded later", rule->trigger->text, pattern->text,
				*near ? "; near it: " : "", near);
	else
		ada_policy_tell(first, "%s: no function fits %s: it may be loaded later", rule->trigger->text, pattern->text);
}

void ada_policy_warn_rule(struct ada_policy_rule *rule, const struct ada_policy_tables *tables, struct ada_error *first)
{
	if (rule->trigger->kind == ADA_RULE_EXCEPTION) /* the patterns are ada's: most programs throw nothing */
		return;
	for (size_t i = 0; i < rule->trigger->patterns.count; i++) {
		if (rule->hits[i] || rule->told[i])
			continue;
		rule->told[i] = true;
		warn_pattern(rule, &rule->trigger->patterns.items[i], tables, first);
	}
}
