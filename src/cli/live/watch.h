/* A session that is looked at again and again while it is recorded, ends, or is recovered. Each look opens it anew while its files may
 * change, and keeps what was there where that fails.
 *
 * While the session is recorded, a look counts no more of the span before the moment than span.h allows. */
#ifndef ADA_CLI_LIVE_WATCH_H
#define ADA_CLI_LIVE_WATCH_H
#include <json-c/json.h>
#include "cli/ground/live.h"
#include "cli/ground/options.h"
#include "cli/live/scene.h"

struct ada_watch {
	const struct ada_options *options; /* session, thread, clock */
	unsigned int answer_ms;		   /* how long the recorder may take to answer */
	struct ada_session *session;	   /* NULL: no look has succeeded */
	struct ada_scene scene;		   /* of `session` */
	json_object *status;		   /* what the recorder said last; NULL: it is over */
	bool playing;			   /* the moment asked for soon passes */
	bool silent;			   /* it didn't answer at the last look */
	bool settled;			   /* the session's files are final, and were all there at the last look */
	bool recorder_gone;		   /* it has ended without finishing the session */
	uint64_t span_ns, live_span_ns;	   /* as wanted; as much of it as is counted while the session is being recorded */
};

/* at_ns: the moment; 0: the last one. 0 or -errno: then the scene is the one of before. */
int ada_watch_look(struct ada_watch *watch, uint64_t at_ns, struct ada_error *error);
/* What to say where less was counted than is wanted: " (12 % of 1 s)"; else "". */
#define ADA_WATCH_SHARE 64
const char *ada_watch_share(const struct ada_watch *watch, char share[ADA_WATCH_SHARE]);
void ada_watch_close(struct ada_watch *watch);
#endif
