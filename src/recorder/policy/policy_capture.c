/* Which functions have captures (--capture), and which: settled with a file's names, for the whole recording. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "recorder/policy/policy_state.h"

int ada_policy_captures_open(struct ada_policy *policy, const struct ada_trace_options *options, struct ada_error *error)
{
	struct ada_error reason = { "" };

	for (size_t i = 0; i < options->captures.count; i++) {
		int status = ada_capture_add(&policy->captures, options->captures.items[i], &reason);

		if (status)
			return ada_error_set(error, -status, "--capture '%s': %s", options->captures.items[i], reason.text);
	}
	return 0;
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

static bool is_libc(const struct ada_policy_image *image)
{
	const char *slash = image->path ? strrchr(image->path, '/') : NULL;

	return slash && !strncmp(slash, "/libc.so.", strlen("/libc.so."));
}

static bool any_may_fit(const struct ada_capture_list *list, const char *name)
{
	for (size_t i = 0; i < list->items.count; i++)
		for (size_t j = 0; j < list->items.items[i].functions.items.count; j++)
			if (ada_pattern_may_match(&list->items.items[i].functions.items.items[j], name))
				return true;
	return false;
}

static void asked_add(const struct ada_policy *policy, const char *name, const char *place, struct ada_capture_set *set)
{
	struct ada_names names;

	ada_names_open(&names, name, place);
	for (size_t i = 0; i < policy->captures.items.count; i++)
		if (ada_pattern_list_matches(&policy->captures.items.items[i].functions, &names))
			ada_capture_put(set, &policy->captures.items.items[i].capture);
	ada_names_close(&names);
}

static void auto_add(const char *name, struct ada_capture_set *set)
{
	struct ada_capture_set known;
	char plain[64];

	snprintf(plain, sizeof plain, "%.*s", (int)strcspn(name, "@"), name);
	known = ada_capture_auto(plain);
	for (size_t i = 0; i < sizeof known.items / sizeof *known.items && known.items[i].argument; i++)
		ada_capture_put(set, &known.items[i]);
}

int ada_policy_captures_match(struct ada_policy *policy, struct ada_policy_image *image)
{
	const struct ada_plan *plan = image->plans.items[0];
	const struct ada_plan_function *functions = ada_plan_functions(plan);
	bool automatic = !policy->captures.off && is_libc(image);

	for (uint32_t i = 0; i < ada_plan_header(plan)->function_count; i++) {
		const char *name = ada_plan_string(plan, functions[i].name);
		struct ada_policy_captured captured = { .function = i };
		struct ada_capture_set set = { 0 };
		char place[ADA_PLACE_TEXT];

		if (any_may_fit(&policy->captures, name)) {
			ada_place_text(place, image->path ? image->path : "", functions[i].address);
			asked_add(policy, name, place, &set);
		}
		if (automatic)
			auto_add(name, &set);
		captured.set = set.items[0].argument ? set_number(policy, &set) : 0;
		if (captured.set && ada_array_push(&image->captured, captured))
			return -ENOMEM;
	}
	return 0;
}
