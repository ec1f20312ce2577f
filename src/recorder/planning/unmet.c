#include "recorder/planning/unmet.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi/plan.h"
#include "recorder/host/say.h"
#include "trigger/trigger.h"

#define SHOWN 3u

typedef bool visit(void *context, const struct ada_names *names); /* false: that's enough */

/* Shows each function and import of the plans, with its names. */
static void each_function(struct ada_plans *plans, visit *see, void *context, const struct ada_pattern *pattern)
{
	const struct ada_plan *plan;
	const char *path;
	bool more = true;

	for (size_t i = 0; more && (plan = ada_plans_at(plans, i, &path)); i++) {
		const struct ada_plan_header *header = ada_plan_header(plan);
		uint32_t functions = header->function_count;

		for (uint32_t j = 0; more && j < functions + header->import_count; j++) {
			const struct ada_plan_function *function = j < functions ? &ada_plan_functions(plan)[j] : NULL;
			uint32_t name = function ? function->name : ada_plan_imports(plan)[j - functions].name;
			char place[ADA_PLACE_TEXT] = "";
			struct ada_names names;

			if (pattern && !ada_pattern_may_match(pattern, ada_plan_string(plan, name)))
				continue;
			if (function)
				ada_place_text(place, path, function->address);
			ada_names_open(&names, ada_plan_string(plan, name), place);
			more = see(context, &names);
			ada_names_close(&names);
		}
	}
}

struct search {
	const struct ada_pattern *pattern;
	bool itself; /* what reads arguments: no clone but by its own name */
	bool found;
};

struct offer {
	struct ada_nearest *nearest;
	const struct ada_pattern *pattern;
	char near[256]; /* a clone of what was asked for: nothing is nearer */
};

static bool try_name(void *context, const struct ada_names *names)
{
	struct search *search = context;

	search->found = search->itself ? ada_pattern_matches_itself(search->pattern, names) : ada_pattern_matches(search->pattern, names);
	return !search->found;
}

static bool offer_name(void *context, const struct ada_names *names)
{
	struct offer *offer = context;

	if (ada_pattern_matches(offer->pattern, names))
		snprintf(offer->near, sizeof offer->near, "%s", names->demangled ? names->demangled : names->mangled);
	ada_nearest_offer_function(offer->nearest, names->brief ? names->brief :
						   names->bare	? names->bare :
						   names->plain ? names->plain :
								  names->mangled);
	return !*offer->near;
}

static void tell(struct ada_plans *plans, const char *option, const struct ada_pattern *pattern)
{
	struct offer offer = { .pattern = pattern };

	offer.nearest = pattern->kind == ADA_PATTERN_LITERAL ? ada_nearest_open(pattern->text) : NULL;
	if (offer.nearest) {
		each_function(plans, offer_name, &offer, NULL);
		if (!*offer.near)
			ada_nearest_text(offer.nearest, offer.near, sizeof offer.near);
		ada_nearest_close(offer.nearest);
	}
	ada_say("ada: --%s: no function is called %s%s%s\n", option, pattern->text, *offer.near ? "; near it: " : "", offer.near);
}

/* How many of these patterns fit no function; tells those that are among the first SHOWN behind `before` others. */
static size_t count_unmet(struct ada_plans *plans, const char *option, const struct ada_pattern_list *patterns, size_t before)
{
	size_t unmet = 0;

	for (size_t i = 0; i < patterns->items.count; i++) {
		struct search search = { .pattern = &patterns->items.items[i], .itself = !strcmp(option, "capture") };

		each_function(plans, try_name, &search, search.pattern);
		if (!search.found && before + unmet++ < SHOWN)
			tell(plans, option, search.pattern);
	}
	return unmet;
}

void ada_plans_tell_unmet(struct ada_plans *plans, const struct ada_filter *filter, const struct ada_filter *kept,
			  const struct ada_capture_list *captures, const struct ada_capture_list *redactions)
{
	const char *path;
	size_t unmet = 0;

	if (!ada_plans_at(plans, 0, &path))
		return;
	if (filter) {
		unmet += count_unmet(plans, "functions", ada_filter_patterns(filter, 0), unmet);
		unmet += count_unmet(plans, "exclude", ada_filter_patterns(filter, 1), unmet);
	}
	if (kept)
		unmet += count_unmet(plans, "keep", ada_filter_patterns(kept, 0), unmet);
	for (size_t i = 0; i < captures->items.count; i++)
		unmet += count_unmet(plans, "capture", &captures->items.items[i].functions, unmet);
	for (size_t i = 0; i < redactions->items.count; i++)
		unmet += count_unmet(plans, "redact", &redactions->items.items[i].functions, unmet);
	if (unmet > SHOWN)
		ada_say("ada: and %zu more patterns that fit no function\n", unmet - SHOWN);
}

void ada_modules_tell_unmet(const struct ada_module_filter *filter)
{
	const struct ada_pattern *pattern;
	char near[256];

	for (size_t at = 0; (pattern = ada_module_filter_unmet(filter, &at, near, sizeof near));)
		ada_say("ada: --modules: no library is called %s%s%s\n", pattern->text, *near ? "; near it: " : "", near);
}
