/* Speaks to a session that is being recorded (src/recorder/control/control.h has the requests). */
#ifndef ADA_CLI_CONTROL_CLIENT_H
#define ADA_CLI_CONTROL_CLIENT_H
#include <json-c/json.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/error.h"

struct ada_live {
	char session[PATH_MAX]; /* its directory */
	char control[PATH_MAX]; /* its socket, as session.json says; "": it names none */
	uid_t user;		/* owner of session.json: the socket and its directory must belong to that user */
};

/* `given`: a session or one of its pid directories; NULL: ada_traces/latest. -ESRCH: it has ended. */
int ada_live_find(struct ada_live *live, const char *given, struct ada_error *error);
/* The same for a session that may have ended. */
int ada_live_locate(struct ada_live *live, const char *given, struct ada_error *error);
pid_t ada_live_recorder(const struct ada_live *live); /* who answers at its socket; 0: nobody, or who may not be asked */
bool ada_live_is_dead(const struct ada_live *live);   /* it names a socket, and nobody listens there */
/* Sends the request and puts it. The caller puts *answer, which says "ok": a refusal by the recorder is an error here. -ESRCH: the
 * session has ended. ms: how long to wait for the answer, 0: as long as it takes. */
int ada_live_ask(const struct ada_live *live, json_object *request, unsigned int ms, json_object **answer, struct ada_error *error);
json_object *ada_live_request(const char *name);

struct ada_live_mark {
	uint64_t processes; /* that it was made in */
	uint64_t ns;	    /* when */
};
/* Marks this moment; `label` may be NULL. */
int ada_live_mark(const struct ada_live *live, const char *label, struct ada_live_mark *mark, struct ada_error *error);
struct ada_live_rule {
	uint64_t id, policy_version;
	char warning[448]; /* what to know of it; "": nothing */
};
int ada_live_add_rule(const struct ada_live *live, const char *text, struct ada_live_rule *rule, struct ada_error *error);

/* Whether the first argument of a command means a session: it names a directory. */
int ada_is_directory(const char *argument);
#endif
