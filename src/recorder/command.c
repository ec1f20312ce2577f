#include "recorder/command.h"
#include <errno.h>
#include <string.h>
#include "recorder/control.h"

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
	for (size_t i = 1; name && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return (enum ada_command)i;
	return ADA_COMMAND_NONE;
}

bool ada_command_on_main(enum ada_command command)
{
	return command == ADA_COMMAND_STATUS || command == ADA_COMMAND_MARK || command == ADA_COMMAND_STOP;
}

json_object *ada_command_run(struct ada_recorder *recorder, enum ada_command command, const json_object *request)
{
	return ada_status_error("not yet");
}
