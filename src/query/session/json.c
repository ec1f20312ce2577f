/* Reading JSON with json-c, which keeps 64-bit integers exact. */
#include "query/session/json.h"
#include <errno.h>
#include <stdlib.h>
#include "base/file.h"

int ada_json_parse(json_object **object, const char *text, const char *path, struct ada_error *error)
{
	enum json_tokener_error reason = json_tokener_success;

	*object = json_tokener_parse_verbose(text, &reason);
	if (json_object_is_type(*object, json_type_object))
		return 0;
	json_object_put(*object);
	*object = NULL;
	return ada_error_set(error, EBADMSG, "%s: not a JSON object: %s", path,
			     reason == json_tokener_success ? "another type" : json_tokener_error_desc(reason));
}

int ada_json_read(json_object **object, const char *path, struct ada_error *error)
{
	size_t length;
	char *text;
	int result = ada_file_read_regular(path, &text, &length, error);

	if (result)
		return result;
	result = ada_json_parse(object, text, path, error);
	free(text);
	return result;
}

json_object *ada_json_get(const json_object *object, const char *key)
{
	json_object *value = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, key, &value);
	return value;
}

uint64_t ada_json_u64(const json_object *object, const char *key, uint64_t otherwise)
{
	json_object *value = ada_json_get(object, key);

	return json_object_is_type(value, json_type_int) ? json_object_get_uint64(value) : otherwise;
}

const char *ada_json_text(const json_object *object, const char *key, const char *otherwise)
{
	json_object *value = ada_json_get(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : otherwise;
}

bool ada_json_bool(const json_object *object, const char *key, bool otherwise)
{
	json_object *value = ada_json_get(object, key);

	return json_object_is_type(value, json_type_boolean) ? json_object_get_boolean(value) : otherwise;
}

size_t ada_json_length(const json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

uint64_t ada_json_sum(const json_object *object)
{
	struct json_object_iter field;
	uint64_t total = 0;

	if (!json_object_is_type(object, json_type_object))
		return 0;
	json_object_object_foreachC(object, field)
		total += json_object_get_uint64(field.val);
	return total;
}
