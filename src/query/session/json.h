/* Reading JSON files that others wrote: what is missing or of another type has the default. */
#ifndef ADA_QUERY_JSON_H
#define ADA_QUERY_JSON_H
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

/* The caller puts *object. -EBADMSG: the file holds something other than one object. */
int ada_json_read(json_object **object, const char *path, struct ada_error *error);
int ada_json_parse(json_object **object, const char *text, const char *path, struct ada_error *error); /* `text` is what `path` holds */
json_object *ada_json_get(const json_object *object, const char *key); /* NULL: not there, or object is no object */
uint64_t ada_json_u64(const json_object *object, const char *key, uint64_t otherwise);
const char *ada_json_text(const json_object *object, const char *key, const char *otherwise);
bool ada_json_bool(const json_object *object, const char *key, bool otherwise);
uint64_t ada_json_sum(const json_object *object); /* of its values, which are numbers */
size_t ada_json_length(const json_object *array); /* 0: no array */
#endif
