/* Answers, and what `ada status` prints: docs/control.md, and docs/man/ada-status.1 for each field. */
#include "recorder/control/control.h"
#include "recorder/control/progress.h"
#include "recorder/detail/detail.h"
#include "recorder/policy/policy.h"
#include "recorder/process/life.h"
#include "recorder/session/manifest.h"
#include "recorder/state/provider.h"
#include <string.h>

json_object *ada_control_answer(bool ok)
{
	json_object *object = json_object_new_object();

	json_object_object_add(object, "ok", json_object_new_boolean(ok));
	ada_json_count(object, "version", ADA_CONTROL_VERSION);
	return object;
}

json_object *ada_control_error(const char *code, const char *text)
{
	json_object *object = ada_control_answer(false);

	json_object_object_add(object, "code", json_object_new_string(code));
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

static uint64_t windows_of(const struct ada_provider *provider)
{
	return provider->details ? ada_windows_count(ada_details_windows(provider->details)) : 0;
}

static json_object *budget_of(const struct ada_provider *provider)
{
	double budget = provider->recorder->options->budget;
	json_object *object = budget > 0 ? json_object_new_object() : NULL;

	if (!object)
		return NULL;
	json_object_object_add(object, "share", json_object_new_double(budget));
	json_object_object_add(object, "cost",
			       json_object_new_double((double)__atomic_load_n(&provider->cost_ppm, __ATOMIC_RELAXED) / 1e6));
	ada_json_count(object, "muted", __atomic_load_n(&provider->muted, __ATOMIC_RELAXED));
	ada_json_count(object, "wentOut", __atomic_load_n(&provider->stops.left, __ATOMIC_RELAXED));
	ada_json_count(object, "cameBack", __atomic_load_n(&provider->stops.returned, __ATOMIC_RELAXED));
	ada_json_count(object, "stops", __atomic_load_n(&provider->stops.count, __ATOMIC_RELAXED));
	ada_json_count(object, "stoppedNs", __atomic_load_n(&provider->stops.total_ns, __ATOMIC_RELAXED));
	return object;
}

static json_object *written_of(const struct ada_provider *provider)
{
	uint64_t written_ns = provider->ended ? 0 : provider->drain.written_ns;

	return written_ns ? json_object_new_uint64(written_ns) : NULL;
}

/* Threads of which that isn't so. */
static json_object *behind_of(const struct ada_provider *provider)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < provider->drain.lanes.count; i++)
		if (!ada_provider_is_written(provider, i))
			json_object_array_add(list, json_object_new_uint64(i));
	return list;
}

bool ada_status_is_written(struct ada_recorder *recorder)
{
	const struct ada_provider *provider;

	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		for (size_t j = 0; j < provider->drain.lanes.count; j++)
			if (!ada_provider_is_written(provider, j))
				return false;
	return true;
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
	ada_json_count(object, "windows", windows_of(provider));
	json_object_object_add(object, "writtenNs", written_of(provider));
	json_object_object_add(object, "behind", behind_of(provider));
	json_object_object_add(object, "budget", budget_of(provider));
	json_object_object_add(object, "metrics", provider->details ? ada_json_metrics_of(provider) : NULL);
	return object;
}

/* Of all processes together, also of those that have ended. */
static json_object *sum_of(const struct ada_recorder *recorder, uint64_t *windows)
{
	struct ada_detail_metrics sum = { 0 }, one;
	json_object *object = json_object_new_object();
	double duration_ns = 0, events = 0;

	*windows = 0;
	for (size_t i = 0; i < recorder->providers.count; i++) {
		const struct ada_provider *provider = recorder->providers.items[i];
		uint64_t count;

		if (!provider->details)
			continue;
		count = windows_of(provider);
		ada_details_metrics(provider->details, &one);
		sum.events_processed += one.events_processed;
		sum.marked_events_detected += one.marked_events_detected;
		sum.selective_dumps_performed += one.selective_dumps_performed;
		sum.windows_discarded += one.windows_discarded;
		sum.persisted_events += one.persisted_events;
		sum.dropped_events += one.dropped_events;
		duration_ns += (double)one.avg_window_duration_ns * (double)count;
		events += (double)one.avg_events_per_window * (double)count;
		*windows += count;
	}
	ada_json_count(object, "events_processed", sum.events_processed);
	ada_json_count(object, "marked_events_detected", sum.marked_events_detected);
	ada_json_count(object, "selective_dumps_performed", sum.selective_dumps_performed);
	ada_json_count(object, "windows_discarded", sum.windows_discarded);
	ada_json_count(object, "avg_window_duration_ns", *windows ? (uint64_t)(duration_ns / (double)*windows) : 0);
	ada_json_count(object, "avg_events_per_window", *windows ? (uint64_t)(events / (double)*windows) : 0);
	ada_json_count(object, "persisted_events", sum.persisted_events);
	ada_json_count(object, "dropped_events", sum.dropped_events);
	return object;
}

static json_object *bound_of(const struct ada_recorder *recorder, uint64_t aged)
{
	struct ada_bound_state state = ada_bound_state(recorder->bound);
	json_object *object = ada_json_bound_of(recorder);

	if (!object)
		return NULL;
	ada_json_count(object, "bytes", state.bytes);
	ada_json_count(object, "segments", state.segments);
	ada_json_count(object, "aged", aged);
	ada_json_count(object, "kept", state.kept);
	ada_json_count(object, "detail", state.detail + recorder->detail_open);
	return object;
}

json_object *ada_status_of(struct ada_recorder *recorder, const struct ada_pace *pace, uint64_t now_ns)
{
	const struct ada_session *session = &recorder->session;
	struct ada_totals totals = ada_recording_totals(recorder);
	uint64_t windows = 0;
	json_object *object = ada_control_answer(true), *providers = json_object_new_array();

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
	json_object_object_add(object, "bound", bound_of(recorder, totals.aged));
	json_object_object_add(object, "policy", ada_status_policy(recorder));
	pthread_mutex_lock(&recorder->lock);
	json_object_object_add(object, "metrics", recorder->options->detail ? sum_of(recorder, &windows) : NULL);
	ada_json_count(object, "windows", windows);
	for (size_t i = 0; i < recorder->providers.count; i++)
		json_object_array_add(providers, provider_of(recorder->providers.items[i]));
	pthread_mutex_unlock(&recorder->lock);
	json_object_object_add(object, "providers", providers);
	return object;
}
