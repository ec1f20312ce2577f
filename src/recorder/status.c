/* What `ada status` prints: docs/man/ada-status.1 describes each field. */
#include "recorder/control.h"
#include "recorder/manifest.h"
#include "recorder/policy.h"
#include "recorder/progress.h"
#include "recorder/provider.h"
#include <string.h>

json_object *ada_status_error(const char *text)
{
	json_object *object = json_object_new_object();
	json_object_object_add(object, "ok", json_object_new_boolean(false));
	json_object_object_add(object, "error", ada_json_text_of(text, strlen(text)));
	return object;
}

json_object *ada_status_policy(struct ada_recorder *recorder)
{
	struct ada_rule_info rules[ADA_RULES_MAX];
	size_t count = ada_policy_rules(recorder->policy, rules, ADA_RULES_MAX);
	uint32_t version = ada_policy_version(recorder->policy);
	json_object *object = json_object_new_object(), *list = json_object_new_array(), *compile = json_object_new_object();
	struct ada_policy_cost cost;
	char hash[17];
	ada_policy_cost(recorder->policy, &cost);
	ada_policy_hash(recorder->policy, version, hash);
	ada_json_count(object, "version", version);
	json_object_object_add(object, "hash", json_object_new_string(hash));
	for (size_t i = 0; i < count; i++) {
		json_object *rule = json_object_new_object();
		ada_json_count(rule, "id", rules[i].id);
		json_object_object_add(rule, "rule", ada_json_text_of(rules[i].trigger->text, strlen(rules[i].trigger->text)));
		ada_json_count(rule, "since", rules[i].since);
		ada_json_count(rule, "matches", rules[i].matches);
		ada_json_count(rule, "marks", rules[i].marks);
		json_object_array_add(list, rule);
	}
	json_object_object_add(object, "rules", list);
	ada_json_count(compile, "count", cost.compiles);
	ada_json_count(compile, "lastNs", cost.last_ns);
	ada_json_count(compile, "totalNs", cost.total_ns);
	ada_json_count(compile, "functionsMatched", cost.functions_matched);
	ada_json_count(compile, "namesTried", cost.names_tried);
	json_object_object_add(object, "compile", compile);
	return object;
}

static json_object *provider_of(const struct ada_provider *provider)
{
	json_object *object = json_object_new_object();
	json_object_object_add(object, "directory", json_object_new_string(provider->name));
	ada_json_count(object, "pid", (uint64_t)provider->pid);
	json_object_object_add(object, "program", ada_json_text_of(provider->program, strlen(provider->program)));
	json_object_object_add(object, "recording", json_object_new_boolean(!provider->ended));
	ada_json_count(object, "events", ada_provider_events(provider));
	ada_json_count(object, "lost", ada_provider_lost(provider));
	return object;
}

json_object *ada_status_of(struct ada_recorder *recorder, const struct ada_pace *pace, uint64_t now_ns)
{
	const struct ada_session *session = &recorder->session;
	struct ada_totals totals = ada_progress_totals(recorder);
	json_object *object = json_object_new_object(), *providers = json_object_new_array();
	json_object_object_add(object, "ok", json_object_new_boolean(true));
	json_object_object_add(object, "session", ada_json_text_of(session->directory, strlen(session->directory)));
	json_object_object_add(object, "program", ada_json_text_of(recorder->program.path, strlen(recorder->program.path)));
	json_object_object_add(object, "recording", json_object_new_boolean(!recorder->closing));
	ada_json_count(object, "startNs", session->start_ns);
	ada_json_count(object, "nowNs", now_ns);
	ada_json_count(object, "eventsPerSecond", pace->per_second);
	ada_json_count(object, "events", totals.events);
	ada_json_count(object, "lost", totals.lost);
	ada_json_count(object, "overwritten", totals.overwritten);
	ada_json_count(object, "threads", totals.threads);
	ada_json_count(object, "processes", totals.live);
	json_object_object_add(object, "policy", ada_status_policy(recorder));
	pthread_mutex_lock(&recorder->lock);
	for (size_t i = 0; i < recorder->providers.count; i++)
		json_object_array_add(providers, provider_of(recorder->providers.items[i]));
	pthread_mutex_unlock(&recorder->lock);
	json_object_object_add(object, "providers", providers);
	return object;
}
