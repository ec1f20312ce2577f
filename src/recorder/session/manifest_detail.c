/* detail_lane, metrics and buffering.detail of manifest.json (docs/manifest.schema.json). */
#include <stdio.h>
#include <unistd.h>
#include "base/file.h"
#include "recorder/session/manifest_parts.h"
#include "recorder/state/provider.h"

static bool has_detail(const struct ada_provider *provider)
{
	return provider->recorder->options->detail && provider->header.detail_chunks;
}

const char *ada_manifest_mode(const struct ada_provider *provider)
{
	return has_detail(provider) ? "selective_persistence" : "index_only";
}

static void read_metrics(const struct ada_provider *provider, struct ada_detail_metrics *metrics)
{
	*metrics = (struct ada_detail_metrics){ .events_processed = 0 };
	if (provider->details)
		ada_details_metrics(provider->details, metrics);
}

static json_object *redactions_of(const struct ada_trace_options *options)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < options->redactions.count; i++)
		json_object_array_add(list, ada_json_text_of(options->redactions.items[i], strlen(options->redactions.items[i])));
	return list;
}

json_object *ada_manifest_detail_lane(const struct ada_provider *provider)
{
	struct ada_detail_metrics metrics;
	json_object *object = json_object_new_object();
	bool detail = has_detail(provider);
	uint64_t events = ada_provider_events(provider);
	const char *persistence = !detail ? "off" : provider->recorder->options->detail_mode == ADA_DETAIL_CIRCULAR ? "windowed" : "all";
	double ratio;

	read_metrics(provider, &metrics);
	ratio = events ? (double)metrics.persisted_events / (double)events : 0;
	json_object_object_add(object, "capture", json_object_new_string(detail ? "always" : "off"));
	json_object_object_add(object, "persistence", json_object_new_string(persistence));
	if (detail && provider->recorder->options->redactions.count)
		json_object_object_add(object, "redacted", redactions_of(provider->recorder->options));
	json_object_object_add(object, "windows", ada_manifest_windows(provider, &metrics));
	ada_json_count(object, "event_count", metrics.persisted_events);
	if (metrics.unwritten_events)
		ada_json_count(object, "lost", metrics.unwritten_events);
	if (provider->aged_ns)
		ada_json_count(object, "agedNs", provider->aged_ns);
	json_object_object_add(object, "coverage_ratio", json_object_new_double(ratio < 1 ? ratio : 1));
	return object;
}

/* The rules' kinds, comma-separated; NULL: none. */
static json_object *rules_text(const struct ada_provider *provider, uint32_t version, uint64_t rules)
{
	char text[200] = "";
	int length = 0;
	struct ada_rule_info info;

	for (uint32_t slot = 0; slot < ADA_RULES_MAX && length < (int)sizeof text; slot++)
		if (rules >> slot & 1 && ada_manifest_rule(provider, version, slot, &info))
			length += snprintf(text + length, sizeof text - (size_t)length, "%s%s", length ? "," : "", info.trigger->kind_text);
	return *text ? ada_json_text_of(text, strlen(text)) : NULL;
}

static void add_number(json_object *object, const char *key, double value)
{
	json_object_object_add(object, key, json_object_new_double(value));
}

json_object *ada_json_metrics_of(const struct ada_provider *provider)
{
	struct ada_detail_metrics metrics;
	struct ada_policy_cost cost = { 0 };
	json_object *object = json_object_new_object();

	read_metrics(provider, &metrics);
	if (provider->recorder->policy)
		ada_policy_cost(provider->recorder->policy, &cost);
	ada_json_count(object, "events_processed", metrics.events_processed);
	ada_json_count(object, "marked_events_detected", metrics.marked_events_detected);
	ada_json_count(object, "selective_dumps_performed", metrics.selective_dumps_performed);
	ada_json_count(object, "windows_discarded", metrics.windows_discarded);
	ada_json_count(object, "avg_window_duration_ns", metrics.avg_window_duration_ns);
	ada_json_count(object, "avg_events_per_window", metrics.avg_events_per_window);
	ada_json_count(object, "persisted_events", metrics.persisted_events);
	ada_json_count(object, "dropped_events", metrics.dropped_events);
	ada_json_count(object, "last_mark_ns", metrics.last_mark_ns);
	json_object_object_add(object, "last_mark_rules", rules_text(provider, metrics.last_mark_version, metrics.last_mark_rules));
	ada_json_count(object, "window_start_ns", metrics.window_start_ns);
	ada_json_count(object, "window_events", metrics.window_events);
	add_number(object, "pool_use_at_dump", metrics.pool_use_at_dump);
	add_number(object, "pool_use", metrics.pool_use);
	add_number(object, "oldest_history_ns", metrics.oldest_history_ns);
	ada_json_count(object, "policy_compiles", cost.compiles);
	ada_json_count(object, "policy_compile_ns", cost.last_ns);
	ada_json_count(object, "policy_compile_total_ns", cost.total_ns);
	ada_json_count(object, "policy_functions_matched", cost.functions_matched);
	ada_json_count(object, "policy_names_tried", cost.names_tried);
	/* One decision in 64 is timed. */
	ada_json_count(object, "judging_ns", 64 * ada_manifest_length_ns(provider, provider->header.marks.evaluated_ticks));
	return object;
}

void ada_manifest_add_memory(json_object *object, const struct ada_pool_memory *memory)
{
	ada_json_count(object, "memoryBytes", memory->bytes);
	json_object_object_add(object, "hugeBytes", memory->huge_bytes == UINT64_MAX ? NULL : json_object_new_uint64(memory->huge_bytes));
}

json_object *ada_manifest_detail_buffer(const struct ada_provider *provider)
{
	static const char *const modes[] = { "circular", "oneshot", "streaming" };
	const struct ada_shm *header = &provider->header;
	uint64_t dropped = 0;
	json_object *object;

	if (!has_detail(provider))
		return NULL;
	object = json_object_new_object();
	for (uint32_t i = 0; i < provider->thread_count; i++)
		dropped += provider->thread_table[i].detail_dropped;
	json_object_object_add(object, "mode", json_object_new_string(modes[provider->recorder->options->detail_mode]));
	ada_json_count(object, "bufferBytes", (uint64_t)header->detail_chunks * header->detail_chunk_bytes);
	ada_json_count(object, "chunkBytes", header->detail_chunk_bytes);
	ada_json_count(object, "chunks", header->detail_chunks);
	ada_manifest_add_memory(object, &provider->detail_memory);
	ada_json_count(object, "recordBytes", ADA_DETAIL_LARGEST(header->detail_stack_bytes));
	ada_json_count(object, "stackBytes", provider->recorder->options->detail_stack_bytes);
	json_object_object_add(object, "stackAt", json_object_new_string(provider->recorder->options->stack_at_return ? "both" : "call"));
	ada_json_count(object, "dropped", dropped);
	ada_json_count(object, "starved", header->detail.starved);
	ada_json_count(object, "discarded", header->detail.discarded);
	ada_json_count(object, "capturesLost", header->detail.captures_lost);
	return object;
}

/* Files that are there: a thread has one in each segment that a window touched. */
json_object *ada_manifest_thread_detail(const struct ada_provider *provider, uint32_t id, size_t segments)
{
	json_object *object = json_object_new_object(), *files = json_object_new_array();
	uint64_t events = provider->details ? ada_details_thread_events(provider->details, id) : 0;
	char path[PATH_MAX], name[32] = "detail.atf";

	for (size_t i = 0; events && i < segments; i++) {
		if (i)
			snprintf(name, sizeof name, "detail.%zu.atf", i);
		if (!ada_path(path, "%s/thread_%u/%s", provider->directory, id, name) && !access(path, F_OK))
			json_object_array_add(files, json_object_new_string(name));
	}
	ada_json_count(object, "events", events);
	json_object_object_add(object, "files", files);
	return object;
}
