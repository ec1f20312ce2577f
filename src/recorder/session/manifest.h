/* manifest.json of a process and session.json of the session (docs/manifest.schema.json, docs/session.schema.json). Main thread. */
#ifndef ADA_RECORDER_MANIFEST_H
#define ADA_RECORDER_MANIFEST_H
#include <json-c/json.h>
#include "recorder/files/json.h"
#include "recorder/state/state.h"

void ada_manifest_write(struct ada_provider *provider); /* as of now; the scribe has it then */
/* The specification's metrics and those that ada adds, for the manifest and `ada status`. */
json_object *ada_json_metrics_of(const struct ada_provider *provider);
/* What bounds the session, for session.json, manifests and `ada status`; NULL: nothing does. Any thread. */
json_object *ada_json_bound_of(const struct ada_recorder *recorder);
int ada_session_write(struct ada_recorder *recorder, bool finalized, struct ada_error *error); /* at once: no scribe has it then */
void ada_session_update(struct ada_recorder *recorder); /* the same by the scribe, while the session goes on */
#endif
