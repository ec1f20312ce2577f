/* The control socket of a session: `ada status`, `ada mark`, `ada stop`, `ada trigger`.
 *
 * SOCK_STREAM, mode 0600, in the recorder's private directory; session.json names it. One request a connection: a JSON object
 * in one line, answered by one in one line.
 *
 *   {"request": "status"}                          -> {"ok": true, ...}                 status.c
 *   {"request": "mark", "label": "TEXT"}           -> {"ok": true, "processes": N, "timestampNs": ...}
 *   {"request": "stop"}                            -> {"ok": true, ...}, once the session is finished
 *   {"request": "trigger-add", "rule": "TEXT"}     -> {"ok": true, "id": N, "version": N}
 *   {"request": "trigger-remove", "id": N}         -> {"ok": true, "version": N}
 *   {"request": "trigger-list"}                    -> {"ok": true, "policy": {...}}
 *   what can't be done                             -> {"ok": false, "error": "TEXT"}
 *
 * One thread serves all clients, none of which it waits for: a client that says nothing, or reads nothing, is dropped when
 * its time is up. What touches the segments is left to the main thread, which looks in once a turn.
 */
#ifndef ADA_RECORDER_CONTROL_H
#define ADA_RECORDER_CONTROL_H
#include <json-c/json.h>
#include "recorder/state.h"

struct ada_control;
#define ADA_CONTROL_NAME "control"
/* In the server's directory. */
int ada_control_open(struct ada_control **control, struct ada_recorder *recorder, struct ada_error *error);
const char *ada_control_path(const struct ada_control *control);
/* Main thread, each turn: does what clients asked for. True where one asked for the recording's end. */
bool ada_control_turn(struct ada_control *control, uint64_t now_ns);
/* All is written: answers those who asked for the end, removes the socket. */
void ada_control_close(struct ada_control *control);

/* How fast events come, as last measured. */
struct ada_pace { uint64_t ns, events, per_second; };

/* status.c; main thread. */
json_object *ada_status_of(struct ada_recorder *recorder, const struct ada_pace *pace, uint64_t now_ns);
json_object *ada_status_policy(struct ada_recorder *recorder);		/* any thread */
json_object *ada_status_error(const char *text);
#endif
