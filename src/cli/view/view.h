/* ada view: one session, opened once, and the questions of one page.
 *
 *   browser  ---- GET /TOKEN/... --->  server.c   token, Host, which answer
 *                                        page       files that are built in (page/)
 *                                        facts.c    what there is, and how far the reading has come
 *                                        timeline.c, lanes.c, search.c, hit.c, call.c   pictures and calls, of what src/query/zoom knows
 *                                        command.c  report, graph, narrate, dump, query: other runs of this program, whose answers
 *                                                   are thus the commands' own
 *
 *   a file   <--- ada view --export -----  export.c   the page, with the answers of a range in it
 *
 * All times in questions and answers are ns from the session's start: they are whole numbers for JavaScript, too.
 */
#ifndef ADA_CLI_VIEW_H
#define ADA_CLI_VIEW_H
#include <pthread.h>
#include <stdatomic.h>
#include "base/output.h"
#include "query/tally/stats.h"
#include "query/zoom/zoom.h"

struct ada_view {
	struct ada_session *session;
	uint64_t start_ns;	  /* the session's, which doesn't change */
	const char *session_path; /* nor does this */
	struct ada_zoom zoom;
	struct ada_stats stats; /* of all of it, by key: what is usual for a function */
	/* Whose functions the statistics name: a session that is recorded is opened once more for them, for they take longer than pictures
	 * may wait. NULL: `session`. */
	struct ada_session *counted_session;
	uint64_t counted_events;
	/* Names of functions are made at the first question for them, and readers of one thread share its mapped blocks: whoever looks
	 * into the session while answering holds this. */
	pthread_mutex_t lock;
	/* Some process goes on: the session is opened again and again, by read.c, which then takes the place of session, zoom and stats
	 * under the lock. */
	bool live;
	atomic_int state;	/* enum ada_view_state: pictures are of what has been read so far until it is READY */
	atomic_bool counted;	/* the statistics are there, too, maybe of fewer events */
	uint64_t built_ns;	/* how long the reading took */
	struct ada_error error; /* of FAILED */
	const char *command;
};
enum ada_view_state { ADA_VIEW_READING, ADA_VIEW_READY, ADA_VIEW_FAILED };

#define ADA_VIEW_COLUMNS 16384u /* of a picture, at most */

/* A question: the path behind the token, and its arguments. */
struct ada_question {
	struct ada_view *view;
	struct MHD_Connection *connection;
	const char *const *arguments; /* of who asks without a connection: name, value, ..., NULL */
	struct ada_output *output;    /* where the answer goes: JSON */
	struct ada_error error;
};
/* An argument's text; NULL: it wasn't given. */
const char *ada_question_text(const struct ada_question *question, const char *name);
/* An argument that is a number; `otherwise` where it wasn't given. 0, or -EINVAL with the message. */
int ada_question_number(struct ada_question *question, const char *name, uint64_t otherwise, uint64_t *number);
/* Arguments `from` and `to`, `columns`, `depths`. */
int ada_question_view(struct ada_question *question, struct ada_zoom_view *view);
/* Argument `thread`: a number in the session. The view is locked. */
int ada_question_thread(struct ada_question *question, const struct ada_zoom_thread **thread);

/* read.c: reads the session, and as long as it is recorded what comes; until ada_interrupted(). */
void *ada_view_read(void *view);
/* The statistics' number of a module of the session as it is now; NULL where they know none. */
const struct ada_module *ada_view_counted_module(const struct ada_view *view, const struct ada_module *module);
int ada_view_read_once(struct ada_view *view); /* 0 or -errno with a message in view->error */

/* export.c: writes a page that needs no server: with the answers to what may be asked of this selection. 0, or -errno with a message. */
int ada_view_export(struct ada_view *view, const struct ada_selection *selection, uint64_t window, const char *path,
		    struct ada_error *error);

/* Of a picture: losses, scheduling, what has gone, what isn't read. The thread is entered. 0 or -ENOMEM. */
int ada_view_put_lanes(struct ada_output *output, const struct ada_view *view, const struct ada_zoom_thread *thread,
		       const struct ada_zoom_view *range);

/* Answers: 0, or -errno with a message; -EAGAIN: the reading isn't done. */
int ada_view_facts(struct ada_question *question);
int ada_view_timeline(struct ada_question *question);
int ada_view_search(struct ada_question *question);
int ada_view_hit(struct ada_question *question);
int ada_view_call(struct ada_question *question);
int ada_view_command(struct ada_question *question); /* argument `run` */

struct ada_view_server;
/* Listens on 127.0.0.1; port 0: a free one. `url` gets the address with its token. NULL: *error says why. */
#define ADA_VIEW_URL 96
struct ada_view_server *ada_view_serve(struct ada_view *view, uint16_t port, char url[ADA_VIEW_URL], struct ada_error *error);
void ada_view_server_stop(struct ada_view_server *server);

/* The page's files, made of page/ by the build (tools/embed-files). */
struct ada_page_file {
	const char *name, *type;
	const unsigned char *bytes;
	size_t length;
};
extern const struct ada_page_file ada_page_files[];
extern const size_t ada_page_file_count;

uint64_t ada_view_now_ns(void); /* CLOCK_MONOTONIC */

static inline uint64_t ada_view_relative(const struct ada_view *view, uint64_t ns)
{
	return ns > view->start_ns ? ns - view->start_ns : 0;
}

static inline uint64_t ada_view_absolute(const struct ada_view *view, uint64_t ns)
{
	return ns < UINT64_MAX - view->start_ns ? ns + view->start_ns : UINT64_MAX;
}

/* `, "name": number` */
static inline void ada_view_put(struct ada_output *output, const char *name, uint64_t number)
{
	ada_output_string(output, ", \"");
	ada_output_string(output, name);
	ada_output_string(output, "\": ");
	ada_output_u64(output, number);
}
#endif
