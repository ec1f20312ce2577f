/* What a session shows at one moment: the functions of the time before, and what each thread is in.
 *
 *   from_ns <= calls that begin < end_ns     stats, as of `ada report --from --to`
 *   end_ns                                   the threads: their innermost open call, and since when
 *
 * Of a session that is being recorded the last moment is now, of another the last event's. */
#ifndef ADA_CLI_SCENE_H
#define ADA_CLI_SCENE_H
#include "cli/live/written.h"
#include "query/cause/cause.h"
#include "query/session/selection.h"
#include "query/tally/stats.h"

#define ADA_SCENE_SPAN_NS 1000000000ull
#define ADA_SCENE_LATE_NS                                                                                                                  \
	1000000000ull /* where no recorder says more: the youngest events of a session under way may be in its files only then */
#define ADA_SCENE_WAIT_NS 1000000ull /* a thread that is in a call for so long is asked what it waits for */

struct ada_scene_thread {
	const struct ada_thread *thread;
	uint64_t events; /* in the span */
	bool far;	 /* the call that it is in began before what was read */
	bool inside;	 /* of a call: */
	uint64_t function_id, position, since_ns;
	uint64_t known_ns; /* until then it is known to be in that call: its last event, or the scene's moment */
	uint32_t depth;
	bool explained; /* of a call that lasts: */
	enum ada_cause_kind kind;
	const struct ada_thread *culprit; /* NULL: nobody else, or not known */
	uint64_t
		held_in; /* of a lock: the program's function in which the culprit took it, or waits meanwhile; ADA_NO_FUNCTION: not known */
};

struct ada_scene {
	struct ada_session *session; /* the caller's; it stays open */
	struct ada_selection selection;
	uint64_t from_ns, end_ns;
	uint64_t last_ns; /* the session's last moment: end_ns, or behind it */
	struct ada_stats stats;
	uint64_t stats_cpu_ns;			    /* what counting took */
	ADA_ARRAY(struct ada_scene_thread) threads; /* that had events in the span or are inside a call; by process and number */
};

struct ada_scene_how {
	const char *thread; /* as given; NULL: all */
	uint64_t at_ns;	    /* the moment; 0: the last one */
	uint64_t span_ns;
	const struct ada_written *written;
	bool quick;	      /* of a moment that soon passes: it isn't asked what threads wait for */
	uint64_t explain_ns;  /* after so long no further thread is asked what it waits for; 0: all are */
	uint64_t back_events; /* of all threads together: so far back it is asked what they are in; 0: as far as needed */
};

/* 0 or -errno; to be closed in both cases. */
int ada_scene_open(struct ada_scene *scene, struct ada_session *session, const struct ada_scene_how *how, struct ada_error *error);
void ada_scene_close(struct ada_scene *scene);
uint64_t ada_scene_last_ns(const struct ada_session *session); /* the last moment */
/* Of something that happened so often in the scene's time: how often a second. */
uint64_t ada_scene_a_second(const struct ada_scene *scene, uint64_t count);
#endif
