/* The control socket of a session: `ada status`, `ada mark`, `ada stop`, `ada trigger`.
 *
 * SOCK_STREAM, mode 0600, in the recorder's private directory; session.json names the path. One request a connection: a JSON object in
 * one line, and the answer is another. docs/control.md is the contract, docs/control.schema.json its form.
 *
 * One thread serves all clients and waits for none: it drops a client that says nothing, or reads nothing, when the client's time is up.
 * Requests that touch the segments are left to the main thread, which looks in once a turn.
 */
#ifndef ADA_RECORDER_CONTROL_H
#define ADA_RECORDER_CONTROL_H
#include <json-c/json.h>
#include "recorder/state/state.h"

struct ada_control;
#define ADA_CONTROL_NAME "control"
#define ADA_CONTROL_VERSION 1 /* of the protocol: raised where a part changes its meaning, or goes */
/* In the server's directory. */
int ada_control_open(struct ada_control **control, struct ada_recorder *recorder, struct ada_error *error);
/* Main thread, each turn: does what clients asked for. True where one asked for the recording's end. */
bool ada_control_turn(struct ada_control *control, uint64_t now_ns);
/* All is written: answers those who asked for the end, removes the socket. */
void ada_control_close(struct ada_control *control);

/* How fast events come, as last measured. */
struct ada_pace {
	uint64_t ns, events, per_second;
};

/* status.c; main thread. */
json_object *ada_status_of(struct ada_recorder *recorder, const struct ada_pace *pace, uint64_t now_ns);
bool ada_status_is_written(struct ada_recorder *recorder);     /* no live thread is behind; main thread */
json_object *ada_status_policy(struct ada_recorder *recorder); /* any thread */
json_object *ada_control_answer(bool ok);		       /* to be filled */
json_object *ada_control_error(const char *code, const char *text);
#endif
