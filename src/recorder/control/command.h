/* What the control socket's clients may ask for (control.h). */
#ifndef ADA_RECORDER_COMMAND_H
#define ADA_RECORDER_COMMAND_H
#include <json-c/json.h>
#include "recorder/state/state.h"

enum ada_command {
	ADA_COMMAND_NONE,
	ADA_COMMAND_STATUS,
	ADA_COMMAND_MARK,
	ADA_COMMAND_STOP,
	ADA_COMMAND_TRIGGER_ADD,
	ADA_COMMAND_TRIGGER_REMOVE,
	ADA_COMMAND_TRIGGER_LIST
};
enum ada_command ada_command_of(const json_object *request); /* NONE: no request that is known */
int ada_command_version(const json_object *request);	     /* 0; -EINVAL: it asks for another version of the protocol */
bool ada_command_on_main(enum ada_command command);	     /* only the main thread may run it */
bool ada_command_flushes(const json_object *request);	     /* of STATUS: what threads have done by now is to be in their files first */
/* Runs any command but STATUS and STOP, and returns the answer. */
json_object *ada_command_run(struct ada_recorder *recorder, enum ada_command command, const json_object *request);
#endif
