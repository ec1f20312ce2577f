#include "recorder/files/json.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "atf.h"
#include "base/seal.h"

/* Length of the well-formed UTF-8 character at `bytes`, or 0. */
static size_t character(const unsigned char *bytes, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length;
	uint32_t code;

	if (bytes[0] < 0x80)
		return 1;
	length = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
	if (bytes[0] < 0xc2 || bytes[0] > 0xf4 || length > left)
		return 0;
	code = bytes[0] & (0x7f >> length);
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (bytes[i] & 0x3f);
	}
	return code >= least[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? length : 0;
}

json_object *ada_json_text_of(const char *bytes, size_t length)
{
	char *text = malloc(length * 3 + 1), *end = text;
	json_object *object;

	if (!text)
		return json_object_new_string("");
	for (size_t i = 0; i < length;) {
		size_t step = character((const unsigned char *)bytes + i, length - i);

		if (step) {
			end = mempcpy(end, bytes + i, step);
			i += step;
		} else {
			end = mempcpy(end, "\xef\xbf\xbd", 3);
			i++;
		}
	}
	object = json_object_new_string_len(text, (int)(end - text));
	free(text);
	return object;
}

void ada_json_count(json_object *object, const char *key, uint64_t count)
{
	json_object_object_add(object, key, json_object_new_uint64(count));
}

json_object *ada_json_address_of(uint64_t address)
{
	char text[24];

	snprintf(text, sizeof text, "0x%" PRIx64, address);
	return json_object_new_string(text);
}

void ada_json_pointer_set(json_object *object, uint64_t pointer, uint64_t end_ns)
{
	json_object_object_add(object, "threadPointer", pointer ? ada_json_address_of(pointer) : NULL);
	json_object_object_add(object, "endNs", end_ns ? json_object_new_uint64(end_ns) : NULL);
}

json_object *ada_json_clock_of(struct ada_clock *clock)
{
	const struct ada_clock_anchor *anchors;
	size_t count = ada_clock_anchors(clock, &anchors);
	json_object *object = json_object_new_object(), *list = json_object_new_array();

	for (size_t i = 0; i < count; i++) {
		json_object *anchor = json_object_new_object();

		ada_json_count(anchor, "counter", anchors[i].counter);
		ada_json_count(anchor, "ns", anchors[i].ns);
		json_object_object_add(anchor, "nsPerTick", json_object_new_double(anchors[i].ns_per_tick));
		json_object_array_add(list, anchor);
	}
	json_object_object_add(object, "name", json_object_new_string("CLOCK_BOOTTIME"));
	ada_json_count(object, "type", ATF_CLOCK_BOOTTIME);
	ada_json_count(object, "resolutionNs", ada_clock_resolution(clock));
	json_object_object_add(object, "anchors", list);
	return object;
}

json_object *ada_json_exit_of(const struct ada_exit_info *exit, const char *program)
{
	static const char *const kinds[] = { "running", "exited", "signal", "exec", "unknown" };
	json_object *object = json_object_new_object();

	json_object_object_add(object, "kind", json_object_new_string(kinds[exit->kind]));
	if (exit->kind == ADA_EXIT_EXITED)
		ada_json_count(object, "status", (uint64_t)exit->value);
	if (exit->kind == ADA_EXIT_SIGNAL) {
		ada_json_count(object, "signal", (uint64_t)exit->value);
		json_object_object_add(object, "coreDumped", json_object_new_boolean(exit->core_dumped));
	}
	if (exit->kind == ADA_EXIT_EXEC && program)
		json_object_object_add(object, "program", ada_json_text_of(program, strlen(program)));
	return object;
}

static int object_put(const char *path, json_object *object, bool durable, struct ada_error *error)
{
	size_t length;
	const char *text = json_object_to_json_string_length(
		object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE, &length);
	int status = !text   ? ada_error_system(error, ENOMEM, "%s", path) :
		     durable ? ada_seal_replace(path, text, length, error) :
			       ada_seal_replace_soon(path, text, length, error);

	json_object_put(object);
	return status;
}

int ada_json_replace(const char *path, json_object *object, struct ada_error *error)
{
	return object_put(path, object, true, error);
}

int ada_json_replace_soon(const char *path, json_object *object, struct ada_error *error)
{
	return object_put(path, object, false, error);
}
