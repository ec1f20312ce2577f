/* Parts of the JSON that ada writes (manifest.json, session.json, answers). Bytes that are no UTF-8 become U+FFFD. */
#ifndef ADA_RECORDER_JSON_H
#define ADA_RECORDER_JSON_H
#include <json-c/json.h>
#include <stdint.h>
#include "abi/wire.h"
#include "base/clock.h"
#include "base/error.h"
#include "recorder/host/process.h"

json_object *ada_json_text_of(const char *bytes, size_t length);
json_object *ada_json_address_of(uint64_t address);
json_object *ada_json_clock_of(struct ada_clock *clock);
json_object *ada_json_crash_of(const struct ada_crash *crash, uint64_t ns); /* NULL: there was none */
void ada_json_count(json_object *object, const char *key, uint64_t count);
/* Of a thread in a manifest: by what joins name it, and when it ended; 0: not known. */
void ada_json_pointer_set(json_object *object, uint64_t pointer, uint64_t end_ns);
/* Both put the object. The second isn't durable: of what is soon written anew. */
int ada_json_replace(const char *path, json_object *object, struct ada_error *error);
int ada_json_replace_soon(const char *path, json_object *object, struct ada_error *error);
json_object *ada_json_clock_of(struct ada_clock *clock);
json_object *ada_json_exit_of(const struct ada_exit_info *exit, const char *program);
#endif
