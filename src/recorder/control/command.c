#include "recorder/control/command.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include "recorder/control/control.h"
#include "recorder/policy/fire.h"
#include "recorder/policy/policy.h"
#include "recorder/process/stock.h"
#include "recorder/session/manifest.h"
#include "recorder/state/provider.h"

#define HOOKS_MS 500

static const char *const names[] = { "", "status", "mark", "stop", "trigger-add", "trigger-remove", "trigger-list" };

static const char *text_of(const json_object *request, const char *key)
{
	json_object *value = NULL;

	json_object_object_get_ex(request, key, &value);
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

enum ada_command ada_command_of(const json_object *request)
{
	const char *name = json_object_is_type(request, json_type_object) ? text_of(request, "request") : NULL;

	for (size_t i = 1; name && i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return (enum ada_command)i;
	return ADA_COMMAND_NONE;
}

bool ada_command_on_main(enum ada_command command)
{
	return command == ADA_COMMAND_STATUS || command == ADA_COMMAND_MARK || command == ADA_COMMAND_STOP;
}

int ada_command_version(const json_object *request)
{
	json_object *version = NULL;

	if (!json_object_is_type(request, json_type_object) || !json_object_object_get_ex(request, "version", &version))
		return 0;
	return json_object_is_type(version, json_type_int) && json_object_get_int64(version) == ADA_CONTROL_VERSION ? 0 : -EINVAL;
}

bool ada_command_flushes(const json_object *request)
{
	json_object *flush = NULL;

	return json_object_object_get_ex(request, "flush", &flush) && json_object_get_boolean(flush);
}

static json_object *accept_with(struct ada_recorder *recorder)
{
	json_object *object = ada_control_answer(true);

	ada_json_count(object, "policyVersion", ada_policy_version(recorder->policy));
	return object;
}

static bool any_lags(struct ada_recorder *recorder, uint32_t version)
{
	struct ada_provider *provider;

	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		if (__atomic_load_n(&provider->muted, __ATOMIC_RELAXED) && !ada_provider_gone(provider) &&
		    __atomic_load_n(&provider->muted_version, __ATOMIC_ACQUIRE) < version)
			return true;
	return false;
}

/* Functions that the rule names and that a budget has let go of come back: the main thread sees to that. A process that can't be stopped
 * isn't waited for long. */
static void await_hooks(struct ada_recorder *recorder)
{
	uint32_t version = ada_policy_version(recorder->policy);

	for (int i = 0; i < HOOKS_MS && any_lags(recorder, version); i++) {
		ada_recorder_wake(recorder);
		poll(NULL, 0, 1);
	}
}

/* When this answers, the rule is parsed, compiled for every process and in force. */
static json_object *add_trigger(struct ada_recorder *recorder, const char *text)
{
	struct ada_error error = { "" }, whole = { "" };
	uint32_t id = 0;
	json_object *object;

	if (!text)
		return ada_control_error("argument", "a rule is missing");
	if (ada_policy_add(recorder->policy, text, &id, &error)) {
		bool place = !strncmp(error.text, "at ", 3); /* the parser names the character alone */

		ada_error_set(&whole, EINVAL, "'%s': %s", text, error.text);
		return ada_control_error("rule", place ? whole.text : error.text);
	}
	ada_stock_settle(recorder->stock); /* children that began before the rule have it, too, when this answers */
	await_hooks(recorder);
	object = accept_with(recorder);
	ada_json_count(object, "id", id);
	if (*error.text)
		json_object_object_add(object, "warning", ada_json_text_of(error.text, strlen(error.text)));
	return object;
}

static json_object *remove_trigger(struct ada_recorder *recorder, const json_object *request)
{
	struct ada_error error = { "" };
	json_object *id = NULL;

	json_object_object_get_ex(request, "id", &id);
	if (!json_object_is_type(id, json_type_int) || json_object_get_int64(id) < 0 || json_object_get_int64(id) > UINT32_MAX)
		return ada_control_error("argument", "a rule's number is missing");
	if (ada_policy_remove(recorder->policy, (uint32_t)json_object_get_int64(id), &error))
		return ada_control_error("rule", error.text);
	return accept_with(recorder);
}

static json_object *list_triggers(struct ada_recorder *recorder)
{
	json_object *object = accept_with(recorder);

	json_object_object_add(object, "policy", ada_status_policy(recorder));
	return object;
}

static json_object *mark(struct ada_recorder *recorder, const char *label)
{
	struct ada_error error = { "" };
	uint64_t now = ada_clock_boottime_ns();
	size_t processes;
	json_object *object;

	if (ada_fire_manual(recorder, label, &processes, &error))
		return ada_control_error("failed", error.text);
	object = accept_with(recorder);
	ada_json_count(object, "processes", processes);
	ada_json_count(object, "timestampNs", now);
	return object;
}

json_object *ada_command_run(struct ada_recorder *recorder, enum ada_command command, const json_object *request)
{
	switch (command) {
	case ADA_COMMAND_TRIGGER_ADD: return add_trigger(recorder, text_of(request, "rule"));
	case ADA_COMMAND_TRIGGER_REMOVE: return remove_trigger(recorder, request);
	case ADA_COMMAND_TRIGGER_LIST: return list_triggers(recorder);
	case ADA_COMMAND_MARK: return mark(recorder, text_of(request, "label"));
	default: return ada_control_error("request", "no such request");
	}
}
