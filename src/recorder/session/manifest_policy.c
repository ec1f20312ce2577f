/* marking_policy of manifest.json: the rules, and which were in force when. */
#include <stdio.h>
#include <string.h>
#include "recorder/session/manifest_parts.h"

#define HISTORY 16 /* newest versions that are told of, and all that windows were cut under */

bool ada_manifest_rule(const struct ada_provider *provider, uint32_t version, uint32_t slot, struct ada_rule_info *info)
{
	return provider->recorder->policy && ada_policy_rule(provider->recorder->policy, version, slot, info);
}

json_object *ada_manifest_version(const struct ada_provider *provider, uint32_t version)
{
	char hash[17] = "", text[32];

	if (provider->recorder->policy && version)
		ada_policy_hash(provider->recorder->policy, version, hash);
	snprintf(text, sizeof text, *hash ? "v%u-%s" : "v%u", version, hash);
	return json_object_new_string(text);
}

static json_object *text_of(const char *text)
{
	return text ? ada_json_text_of(text, strlen(text)) : NULL;
}

static json_object *rule_of(const struct ada_rule_info *info, bool in_force)
{
	json_object *object = json_object_new_object();
	const struct ada_trigger *trigger = info->trigger;

	ada_json_count(object, "id", info->id);
	json_object_object_add(object, "type", ada_json_text_of(trigger->text, strcspn(trigger->text, "=<>!@:")));
	json_object_object_add(object, "pattern", text_of(trigger->pattern_text));
	json_object_object_add(object, "kind", text_of(trigger->kind_text));
	json_object_object_add(object, "text", text_of(trigger->text));
	json_object_object_add(object, "label", text_of(trigger->label));
	json_object_object_add(object, "enabled", json_object_new_boolean(in_force));
	ada_json_count(object, "slot", info->slot);
	ada_json_count(object, "since", info->since);
	json_object_object_add(object, "until", info->until == UINT32_MAX ? NULL : json_object_new_uint64(info->until));
	ada_json_count(object, "matches", info->matches);
	ada_json_count(object, "marks", info->marks);
	if (info->overlooked)
		ada_json_count(object, "overlooked", info->overlooked);
	return object;
}

static bool in_windows(const struct ada_provider *provider, uint32_t version)
{
	struct ada_windows *windows = provider->details ? ada_details_windows(provider->details) : NULL;

	for (size_t i = 0; windows && i < ada_windows_count(windows); i++)
		if (ada_windows_at(windows, i)->version == version)
			return true;
	return false;
}

/* Adds the version, and such of its rules as are not in force any more and not in the list yet. */
static json_object *version_of(const struct ada_provider *provider, uint32_t version, json_object *rules, uint64_t *told)
{
	json_object *object = json_object_new_object(), *ids = json_object_new_array();
	struct ada_rule_info info;
	char hash[17];

	ada_policy_hash(provider->recorder->policy, version, hash);
	ada_json_count(object, "version", version);
	json_object_object_add(object, "hash", json_object_new_string(hash));
	for (uint32_t slot = 0; slot < ADA_RULES_MAX; slot++) {
		if (!ada_policy_rule(provider->recorder->policy, version, slot, &info))
			continue;
		json_object_array_add(ids, json_object_new_uint64(info.id));
		if (info.until != UINT32_MAX && info.id >= *told) {
			json_object_array_add(rules, rule_of(&info, false));
			*told = info.id + 1ull;
		}
	}
	json_object_object_add(object, "rules", ids);
	return object;
}

json_object *ada_manifest_policy(const struct ada_provider *provider)
{
	struct ada_policy *policy = provider->recorder->policy;
	json_object *object = json_object_new_object(), *rules = json_object_new_array(), *history = json_object_new_array();
	struct ada_rule_info infos[ADA_RULES_MAX];
	char text[24] = "", hash[17] = "";

	if (policy) {
		uint32_t version = ada_policy_version(policy);
		size_t count = ada_policy_rules(policy, infos, ADA_RULES_MAX);
		uint64_t told = 0;

		snprintf(text, sizeof text, "v%u", version);
		ada_policy_hash(policy, version, hash);
		for (size_t i = 0; i < count; i++)
			json_object_array_add(rules, rule_of(&infos[i], true));
		for (uint32_t v = 1; v <= version; v++)
			if (v + HISTORY > version || in_windows(provider, v))
				json_object_array_add(history, version_of(provider, v, rules, &told));
	}
	json_object_object_add(object, "version", json_object_new_string(text));
	json_object_object_add(object, "hash", json_object_new_string(hash));
	json_object_object_add(object, "rules", rules);
	json_object_object_add(object, "history", history);
	return object;
}
