/* Which functions have captures (--capture), and which, and which arguments are dropped (--redact): settled with a file's names, for the
 * whole recording. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "abi/record.h"
#include "recorder/policy/policy_state.h"

#define ALL_ARGUMENTS 0x7eu /* bits 1 to 6 */

int ada_policy_captures_open(struct ada_policy *policy, const struct ada_trace_options *options, struct ada_error *error)
{
	struct ada_error reason = { "" };

	for (size_t i = 0; i < options->captures.count; i++) {
		int status = ada_capture_add(&policy->captures, options->captures.items[i], &reason);

		if (status)
			return ada_error_set(error, -status, "--capture '%s': %s", options->captures.items[i], reason.text);
	}
	for (size_t i = 0; i < options->redactions.count; i++) {
		int status = ada_redact_add(&policy->redactions, options->redactions.items[i], &reason);

		if (status)
			return ada_error_set(error, -status, "--redact '%s': %s", options->redactions.items[i], reason.text);
	}
	return 0;
}

const struct ada_capture_list *ada_policy_asked_redactions(const struct ada_policy *policy)
{
	return &policy->redactions;
}

const struct ada_capture_list *ada_policy_asked_captures(const struct ada_policy *policy)
{
	return &policy->captures;
}

/* The number of a set that is like this one; 0: there are too many. */
static uint8_t set_number(struct ada_policy *policy, const struct ada_capture_set *set)
{
	for (uint32_t i = 1; i <= policy->set_count; i++)
		if (!memcmp(&policy->sets[i], set, sizeof *set))
			return (uint8_t)i;
	if (policy->set_count + 1 >= ADA_CAPTURE_SETS)
		return 0;
	policy->sets[++policy->set_count] = *set;
	return (uint8_t)policy->set_count;
}

static bool is_library(const struct ada_policy_image *image, const char *name)
{
	const char *slash = image->path ? strrchr(image->path, '/') : NULL;

	return slash && !strncmp(slash + 1, name, strlen(name));
}

static bool any_may_fit(const struct ada_capture_list *list, const char *name)
{
	for (size_t i = 0; i < list->items.count; i++)
		for (size_t j = 0; j < list->items.items[i].functions.items.count; j++)
			if (ada_pattern_may_match(&list->items.items[i].functions.items.items[j], name))
				return true;
	return false;
}

static bool is_named(const struct ada_pattern_list *functions, const struct ada_names *names)
{
	for (size_t i = 0; i < functions->items.count; i++)
		if (functions->items.items[i].kind == ADA_PATTERN_LITERAL && ada_pattern_matches_itself(&functions->items.items[i], names))
			return true;
	return false;
}

static void asked_add(const struct ada_policy *policy, const struct ada_names *names, uint32_t redacted, struct ada_capture_set *set,
		      bool *named)
{
	for (size_t i = 0; i < policy->captures.items.count; i++) {
		const struct ada_capture_rule *rule = &policy->captures.items.items[i];

		if (redacted >> rule->capture.argument & 1 || !ada_pattern_list_matches_itself(&rule->functions, names))
			continue;
		ada_capture_put(set, &rule->capture);
		*named |= is_named(&rule->functions, names);
	}
}

static uint32_t redacted_of(const struct ada_policy *policy, const struct ada_names *names)
{
	uint32_t arguments = 0;

	for (size_t i = 0; i < policy->redactions.items.count; i++) {
		const struct ada_capture_rule *rule = &policy->redactions.items.items[i];

		if (ada_pattern_list_matches_itself(&rule->functions, names))
			arguments |= 1u << rule->capture.argument;
		else if (ada_pattern_list_matches(&rule->functions, names))
			arguments |= ALL_ARGUMENTS; /* nobody knows where a clone has that one */
	}
	return arguments;
}

/* What the options that name functions say of one. */
static int asked_match(const struct ada_policy *policy, struct ada_policy_image *image, const char *name, uint32_t function,
		       struct ada_capture_set *set, uint32_t *redacted, bool *named)
{
	const struct ada_plan_function *at = &ada_plan_functions(image->plans.items[0])[function];
	char place[ADA_PLACE_TEXT];
	struct ada_names names;

	*redacted = 0;
	if (!any_may_fit(&policy->captures, name) && !any_may_fit(&policy->redactions, name))
		return 0;
	ada_place_text(place, image->path ? image->path : "", at->address);
	ada_names_open(&names, name, place);
	*redacted = redacted_of(policy, &names);
	asked_add(policy, &names, *redacted, set, named);
	ada_names_close(&names);
	return *redacted ? ada_array_push(&image->redacted, ((struct ada_policy_redacted){ function, *redacted })) : 0;
}

int ada_policy_captures_match(struct ada_policy *policy, struct ada_policy_image *image)
{
	const struct ada_plan *plan = image->plans.items[0];
	const struct ada_plan_function *functions = ada_plan_functions(plan);
	bool libc = is_library(image, "libc.so."), library = libc || is_library(image, "libstdc++.so.");

	for (uint32_t i = 0; i < ada_plan_header(plan)->function_count; i++) {
		const char *name = ada_plan_string(plan, functions[i].name);
		struct ada_policy_captured captured = { .function = i };
		struct ada_capture_set set = { 0 }, by_itself;
		uint32_t redacted;
		char plain[64];

		if (asked_match(policy, image, name, i, &set, &redacted, &captured.named))
			return -ENOMEM;
		snprintf(plain, sizeof plain, "%.*s", (int)strcspn(name, "@"), name);
		if (libc && set.items[0].argument)
			ada_capture_put_errno(&set, plain);
		if (!policy->captures.off) {
			by_itself = library ? ada_capture_auto(plain) : ada_capture_auto_rust(name);
			ada_capture_join(&set, &by_itself, redacted);
		}
		captured.set = set.items[0].argument ? set_number(policy, &set) : 0;
		if (captured.set && ada_array_push(&image->captured, captured))
			return -ENOMEM;
	}
	return 0;
}

uint32_t ada_policy_redacted_of(const struct ada_policy_image *image, uint32_t function)
{
	size_t i = ada_first_not(n, 0, image->redacted.count, image->redacted.items[n].function < function);

	return i < image->redacted.count && image->redacted.items[i].function == function ? image->redacted.items[i].arguments : 0;
}

void ada_policy_redact_module(struct ada_policy *policy, struct ada_policy_tables *tables, const struct ada_policy_module *module)
{
	pthread_mutex_lock(&policy->lock);
	for (size_t i = 0; i < module->image->redacted.count; i++) {
		const struct ada_policy_redacted *one = &module->image->redacted.items[i];

		if (ada_table_put(&tables->redacted, ADA_FUNCTION_ID(module->id, one->function), one->arguments))
			tables->redact_all = true;
	}
	pthread_mutex_unlock(&policy->lock);
}

uint32_t ada_policy_redacted(struct ada_policy *policy, const struct ada_provider *provider, uint64_t function_id)
{
	uint64_t arguments = 0;
	struct ada_policy_tables *tables;

	pthread_mutex_lock(&policy->lock);
	tables = ada_policy_tables_of(policy, provider);
	if (tables && !ada_table_get(&tables->redacted, function_id, &arguments) && tables->redact_all)
		arguments = 0x7e;
	pthread_mutex_unlock(&policy->lock);
	return (uint32_t)arguments;
}
