#include "recorder/session/disk.h"
#include <string.h>
#include "recorder/files/json.h"
#include "recorder/files/place.h"
#include "recorder/host/say.h"
#include "recorder/index/trouble.h"
#include "recorder/state/provider.h"

void ada_disk_retry(struct ada_recorder *recorder)
{
	if (!ada_session_reserve_try())
		return;
	ada_sink_retry(recorder->sink);
	ada_session_reserve_unlock();
}

void ada_disk_turn(struct ada_recorder *recorder)
{
	const struct ada_trouble *trouble = ada_sink_story(recorder->sink);
	struct ada_provider *provider;

	if (trouble->probes || !trouble->error == !recorder->disk_told)
		return;
	if (trouble->error)
		ada_say("ada: %s: %s: recording goes on in memory, and writing is tried again\n", recorder->session.directory,
			strerror(-trouble->error));
	else
		ada_say("ada: %s: events are written again\n", recorder->session.directory);
	recorder->disk_told = trouble->error;
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		if (!provider->ended)
			__atomic_store_n(&provider->changed, true, __ATOMIC_RELEASE);
}

bool ada_disk_may_recover(const struct ada_recorder *recorder)
{
	return ada_trouble_is_young(ada_sink_story(recorder->sink));
}

json_object *ada_json_disk_of(const struct ada_provider *provider)
{
	const struct ada_trouble *trouble = ada_sink_story(provider->recorder->sink);
	bool lasts = trouble->error || trouble->probes;
	json_object *object;

	if (!trouble->count || (!lasts && trouble->until_ns < provider->start_ns))
		return NULL;
	object = json_object_new_object();
	json_object_object_add(object, "reason", json_object_new_string(strerror(-trouble->last_error)));
	ada_json_count(object, "troubles", trouble->count);
	ada_json_count(object, "firstNs", trouble->first_ns);
	ada_json_count(object, "sinceNs", trouble->since_ns);
	json_object_object_add(object, "untilNs", lasts ? NULL : json_object_new_uint64(trouble->until_ns));
	json_object_object_add(object, "stoppedNs", provider->drain.stopped_ns ? json_object_new_uint64(provider->drain.stopped_ns) : NULL);
	return object;
}
