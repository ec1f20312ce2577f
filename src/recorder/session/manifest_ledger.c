/* `ledger` and `muted` of the manifest: what recording cost the process, which functions made the most of it, and of which it let go. */
#include "recorder/session/manifest_parts.h"
#include "recorder/state/provider.h"

#define SHOWN 200

static json_object *row_of(const struct ada_ledger_function *row)
{
	json_object *object = json_object_new_object();

	ada_json_count(object, "functionId", row->function_id);
	ada_json_count(object, "events", row->events);
	ada_json_count(object, "leaves", row->leaves);
	ada_json_count(object, "shorts", row->shorts);
	ada_json_count(object, "shortNs", row->short_ns);
	ada_json_count(object, "objects", row->objects);
	return object;
}

json_object *ada_manifest_ledger(const struct ada_provider *provider)
{
	json_object *object = json_object_new_object(), *list = json_object_new_array();
	struct ada_ledger_function rows[SHOWN];
	size_t functions = ada_ledger_dearest(&provider->ledger, rows, SHOWN);
	struct ada_cost cost = ada_provider_cost(provider);

	ada_json_count(object, "events", cost.events);
	ada_json_count(object, "objects", cost.objects);
	json_object_object_add(object, "eventNs", cost.price.event_ns > 0 ? json_object_new_double(cost.price.event_ns) : NULL);
	json_object_object_add(object, "objectNs", cost.price.event_ns > 0 ? json_object_new_double(cost.price.object_ns) : NULL);
	json_object_object_add(object, "costNs", cost.price.event_ns > 0 ? json_object_new_uint64(cost.cost_ns) : NULL);
	json_object_object_add(object, "cpuNs", cost.cpu_ns ? json_object_new_uint64(cost.cpu_ns) : NULL);
	ada_json_count(object, "stops", provider->stops.count);
	ada_json_count(object, "stoppedNs", provider->stops.total_ns);
	ada_json_count(object, "longestStopNs", provider->stops.longest_ns);
	ada_json_count(object, "stopsCpuNs", provider->stops.worked_ns);
	ada_json_count(object, "dearestStopNs", provider->stops.dearest_ns);
	ada_json_count(object, "counted", provider->ledger.counted);
	ada_json_count(object, "functionCount", functions);
	for (size_t i = 0; i < functions && i < SHOWN; i++)
		json_object_array_add(list, row_of(&rows[i]));
	json_object_object_add(object, "functions", list);
	return object;
}

json_object *ada_manifest_muted(const struct ada_provider *provider)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < provider->mutes.count; i++) {
		const struct ada_mute *mute = &provider->mutes.items[i];
		json_object *object = json_object_new_object();

		ada_json_count(object, "functionId", mute->function_id);
		json_object_object_add(object, "filtered", json_object_new_boolean(mute->filtered));
		ada_json_count(object, "fromNs", mute->from_ns);
		json_object_object_add(object, "toNs", mute->to_ns ? json_object_new_uint64(mute->to_ns) : NULL);
		json_object_object_add(object, "callsPerSecond", json_object_new_double(mute->calls_a_second));
		json_object_array_add(list, object);
	}
	return list;
}
