/* Which functions rules name: each file's names are tried once for each rule, however many processes have it. */
#include <errno.h>
#include <stdlib.h>
#include "recorder/policy/policy_state.h"

static bool same_functions(const struct ada_plan *a, const struct ada_plan *b)
{
	uint32_t count = ada_plan_header(a)->function_count;
	const struct ada_plan_function *one = ada_plan_functions(a), *other = ada_plan_functions(b);

	if (ada_plan_header(b)->function_count != count)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (one[i].address != other[i].address || strcmp(ada_plan_string(a, one[i].name), ada_plan_string(b, other[i].name)))
			return false;
	return true;
}

/* What stands beside the function's number in a match; 0: the rule doesn't name it. */
static uint32_t rule_fits(struct ada_policy_rule *rule, const struct ada_names *names)
{
	uint32_t how = 0;

	for (size_t i = 0; i < rule->trigger->patterns.count; i++) {
		const struct ada_pattern *pattern = &rule->trigger->patterns.items[i];

		if (!ada_trigger_means(rule->trigger, i, names))
			continue;
		rule->hits[i] = true;
		how |= pattern->kind == ADA_PATTERN_LITERAL ? ADA_POLICY_LITERAL : 0;
		how |= ada_trigger_side_of(rule->trigger, i) == ADA_TRIGGER_BEGINS ? ADA_POLICY_BEGINS : ADA_POLICY_ENDS;
	}
	return how;
}

/* Whether the rule compares an argument of this function that --redact drops. */
static bool compares_redacted(const struct ada_policy_rule *rule, const struct ada_policy_image *image, uint32_t function, uint32_t how)
{
	const struct ada_trigger *trigger = rule->trigger;
	uint32_t arguments = ada_policy_redacted_of(image, function);

	if (trigger->kind != ADA_RULE_ARG && trigger->kind != ADA_RULE_SPAN)
		return false;
	return (how & ADA_POLICY_ENDS && arguments >> trigger->argument & 1) ||
	       (how & ADA_POLICY_BEGINS && arguments >> trigger->begin_argument & 1);
}

static bool any_may_fit(struct ada_policy_rule **rules, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (ada_trigger_may_match(rules[i]->trigger, name))
			return true;
	return false;
}

/* Tries rules on the names of an image; appends their matches. */
static int match(struct ada_policy *policy, struct ada_policy_image *image, struct ada_policy_rule **rules, size_t count)
{
	const struct ada_plan *plan = image->plans.items[0];
	const struct ada_plan_function *functions = ada_plan_functions(plan);
	uint32_t function_count = ada_plan_header(plan)->function_count;
	size_t first = image->matches.count;
	uint64_t matched = 0;
	int status = 0;
	size_t kept;

	for (size_t i = 0; i < count && !status; i++)
		status = ada_array_push(&image->matches, (struct ada_policy_match){ .rule = rules[i] });
	for (uint32_t i = 0; i < function_count && !status; i++) {
		const char *name = ada_plan_string(plan, functions[i].name);
		char place[ADA_PLACE_TEXT];
		struct ada_names names;

		if (!any_may_fit(rules, count, name))
			continue;
		ada_place_text(place, image->path ? image->path : "", functions[i].address);
		ada_names_open(&names, name, place);
		for (size_t j = 0; j < count && !status; j++) {
			uint32_t how = rule_fits(rules[j], &names);

			if (!how)
				continue;
			rules[j]->redacted |= compares_redacted(rules[j], image, i, how);
			status = ada_array_push(&image->matches.items[first + j].functions, i | how);
			matched++;
		}
		ada_names_close(&names);
	}
	/* Matches without functions go again. */
	kept = first;
	for (size_t i = first; i < image->matches.count; i++)
		if (image->matches.items[i].functions.count)
			image->matches.items[kept++] = image->matches.items[i];
	image->matches.count = kept;
	pthread_mutex_lock(&policy->lock);
	policy->cost.names_tried += function_count;
	policy->cost.functions_matched += matched;
	pthread_mutex_unlock(&policy->lock);
	return status;
}

static int match_all(struct ada_policy *policy, struct ada_policy_image *image)
{
	struct ada_policy_rule *rules[ADA_RULES_MAX], *rule;
	size_t count = 0;

	for (uint32_t slot = 0; slot < ADA_RULES_MAX; slot++)
		if ((rule = ada_policy_in_slot(policy, slot)) && rule->trigger->patterns.count)
			rules[count++] = rule;
	return count ? match(policy, image, rules, count) : 0;
}

static void image_free(struct ada_policy_image *image)
{
	for (size_t i = 0; i < image->matches.count; i++)
		ada_array_free(&image->matches.items[i].functions);
	ada_array_free(&image->matches);
	ada_array_free(&image->captured);
	ada_array_free(&image->redacted);
	ada_array_free(&image->plans);
	free(image->path);
	free(image);
}

static struct ada_policy_image *known_image(const struct ada_policy *policy, const struct ada_plan *plan)
{
	for (size_t i = 0; i < policy->images.count; i++)
		for (size_t j = 0; j < policy->images.items[i]->plans.count; j++)
			if (policy->images.items[i]->plans.items[j] == plan)
				return policy->images.items[i];
	return NULL;
}

struct ada_policy_image *ada_policy_image(struct ada_policy *policy, const struct ada_plan *plan, const char *path)
{
	struct ada_policy_image *image = known_image(policy, plan);

	if (image)
		return image;
	for (size_t i = 0; i < policy->images.count; i++) {
		image = policy->images.items[i];
		if (same_functions(image->plans.items[0], plan))
			return ada_array_push(&image->plans, plan) ? NULL : image;
	}
	image = calloc(1, sizeof *image);
	if (!image)
		return NULL;
	image->path = path ? strdup(path) : NULL;
	if (ada_array_push(&image->plans, plan) || ada_policy_captures_match(policy, image) || match_all(policy, image) ||
	    ada_array_push(&policy->images, image)) {
		image_free(image);
		return NULL;
	}
	return image;
}

void ada_policy_images_free(struct ada_policy *policy)
{
	for (size_t i = 0; i < policy->images.count; i++)
		image_free(policy->images.items[i]);
	ada_array_free(&policy->images);
}

int ada_policy_match_rule(struct ada_policy *policy, struct ada_policy_rule *rule)
{
	int status = 0;

	for (size_t i = 0; i < policy->images.count && !status && rule->trigger->patterns.count; i++)
		status = match(policy, policy->images.items[i], &rule, 1);
	return status;
}

void ada_policy_unmatch_rule(struct ada_policy *policy, const struct ada_policy_rule *rule)
{
	for (size_t i = 0; i < policy->images.count; i++) {
		struct ada_policy_image *image = policy->images.items[i];

		for (size_t j = 0; j < image->matches.count; j++)
			if (image->matches.items[j].rule == rule) {
				ada_array_free(&image->matches.items[j].functions);
				image->matches.items[j--] = image->matches.items[--image->matches.count];
			}
	}
}

/* The first function of a match that stands on this side; NULL: none. */
static const char *name_on(const struct ada_plan *plan, const struct ada_policy_match *match, uint32_t side)
{
	for (size_t i = 0; i < match->functions.count; i++)
		if (match->functions.items[i] & side)
			return ada_plan_string(plan, ada_plan_functions(plan)[ADA_POLICY_NUMBER(match->functions.items[i])].name);
	return NULL;
}

/* True where the type of what ends or begins is settled now. */
static bool side_settle(struct ada_policy *policy, const struct ada_policy_image *image, const struct ada_policy_match *match, bool begins,
			enum ada_value_type *type)
{
	struct ada_policy_rule *rule = (struct ada_policy_rule *)match->rule;
	bool *typed = begins ? &rule->begin_typed : &rule->typed;
	const char *name = *typed ? NULL : name_on(image->plans.items[0], match, begins ? ADA_POLICY_BEGINS : ADA_POLICY_ENDS);

	if (!name)
		return false;
	*type = ada_value_type_of(image->path, name, begins ? rule->trigger->begin_argument : rule->trigger->argument);
	pthread_mutex_lock(&policy->lock);
	*typed = true;
	pthread_mutex_unlock(&policy->lock);
	return true;
}

bool ada_policy_settle_types(struct ada_policy *policy, struct ada_policy_image *image)
{
	bool changed = false;

	for (size_t i = 0; i < image->matches.count && image->path; i++) {
		const struct ada_policy_match *match = &image->matches.items[i];
		struct ada_policy_rule *rule = (struct ada_policy_rule *)match->rule;
		struct ada_rule agent = rule->agent, begin = rule->begin;
		enum ada_value_type type;

		if (side_settle(policy, image, match, false, &type)) {
			ada_trigger_rule(rule->trigger, policy->ticks_per_ns, &policy->rolls, type, &agent);
			agent.incarnation = rule->incarnation;
		}
		if (side_settle(policy, image, match, true, &type))
			ada_trigger_begin_rule(rule->trigger, &rule->agent, type, rule->slot, &begin);
		changed |= memcmp(&agent, &rule->agent, sizeof agent) || memcmp(&begin, &rule->begin, sizeof begin);
		pthread_mutex_lock(&policy->lock);
		rule->agent = agent;
		rule->begin = begin;
		pthread_mutex_unlock(&policy->lock);
	}
	return changed;
}

/* Sets the hook's bit, and those of the hooks in whose dead bytes it lies, since it can only be applied with them. Returns how many were
 * not set before. */
static uint32_t set_hook(const struct ada_plan *plan, uint32_t hook, uint8_t *bits)
{
	uint32_t hook_count = ada_plan_header(plan)->hook_count, count = 0;

	while (hook < hook_count && !(bits[hook / 8] >> hook % 8 & 1)) {
		bits[hook / 8] |= (uint8_t)(1u << hook % 8);
		count++;
		hook += (uint32_t)(int32_t)ada_plan_hooks(plan)[hook].host;
	}
	return count;
}

uint32_t ada_policy_hook_bits(const struct ada_policy_image *image, const struct ada_plan *plan, uint8_t *bits)
{
	const struct ada_plan_function *functions = ada_plan_functions(plan);
	uint32_t count = 0;

	for (size_t i = 0; i < image->matches.count; i++)
		for (size_t j = 0; j < image->matches.items[i].functions.count; j++) {
			const struct ada_plan_function
				*function = &functions[ADA_POLICY_NUMBER(image->matches.items[i].functions.items[j])];

			if (!(function->flags & ADA_FUNCTION_INTERCEPT))
				count += set_hook(plan, function->hook, bits);
		}
	return count;
}

int ada_policy_names_function(struct ada_policy *policy, const struct ada_plan *plan, uint32_t function)
{
	const struct ada_policy_image *image;
	bool named = false;

	if (pthread_mutex_trylock(&policy->change))
		return -EAGAIN;
	image = known_image(policy, plan);
	for (size_t i = 0; image && i < image->matches.count && !named; i++)
		for (size_t j = 0; j < image->matches.items[i].functions.count && !named; j++)
			named = ADA_POLICY_NUMBER(image->matches.items[i].functions.items[j]) == function;
	pthread_mutex_unlock(&policy->change);
	return named;
}
