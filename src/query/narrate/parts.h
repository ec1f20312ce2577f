/* The parts of a narrative, each a file. */
#ifndef ADA_QUERY_NARRATE_PARTS_H
#define ADA_QUERY_NARRATE_PARTS_H
#include "query/calls/calls.h"
#include "query/headline/headline.h"
#include "query/narrate/narrate.h"
#include "query/session/windows.h"
#include "query/tell/tell.h"

struct ada_mark_place { /* a mark of a window, from the manifest */
	const struct ada_recorded_window *window;
	uint64_t number; /* of the window in the session */
	uint64_t mark;	 /* in its marks[] */
	const json_object *entry;
	uint64_t ns;
	const struct ada_thread *thread; /* NULL: of no thread, or of one that can't be read */
	uint64_t position;		 /* of the marked event in it */
	bool has_function;		 /* the event itself was marked; else the mark came right behind it */
};

#define ADA_RULES_TOLD 64 /* of a window, or a mark: a policy has no more at a time */
struct ada_first_marks {  /* marks of rules that had not marked in the window before: these get surroundings */
	struct ada_mark_place places[ADA_RULES_TOLD];
	size_t count, rule_count;
	uint64_t rules[ADA_RULES_TOLD]; /* seen so far */
	uint64_t told_ns;		/* the last moment for which the threads' doings were told; 0: none yet */
};

void ada_narrate_session(struct ada_story *story);
void ada_narrate_process(struct ada_story *story, const struct ada_process *process);
void ada_narrate_windows(struct ada_story *story);
void ada_narrate_window(struct ada_story *story, struct ada_cause_reader *reader, const struct ada_headline *headline);
bool ada_narrate_place(const struct ada_story *story, uint64_t window, uint64_t mark, struct ada_mark_place *place);
void ada_narrate_cite_window(struct ada_story *story, const struct ada_recorded_window *window);
bool ada_narrate_holds_crash(const struct ada_story *story, uint64_t window);
/* The first marks, the first mark of each rule, and what surrounds these; `firsts` is zero. */
void ada_narrate_marks(struct ada_story *story, uint64_t window, struct ada_first_marks *firsts);
/* Whether the sentences on how an earlier mark's thread went on hold for this mark's, too. */
bool ada_first_marks_same_thread(const struct ada_first_marks *firsts, size_t number);
void ada_narrate_mark(struct ada_story *story, const struct ada_mark_place *place);
void ada_narrate_path(struct ada_story *story, const struct ada_mark_place *place);
/* Of an open call that joins a thread: ", until thread 2 (sleeper) ends", where that one is known. */
void ada_narrate_put_awaited(FILE *stream, const struct ada_thread *thread, const struct ada_frame *frame, uint64_t ns);
/* `first`: this is the window's first mark; else the sentences' kind begins with "crash-". */
void ada_narrate_others(struct ada_story *story, const struct ada_process *process, const struct ada_thread *but, uint64_t ns, bool first);
/* Feeds the calls that are open before the event `first`, so that their ends find them. 0 or -ENOMEM. */
int ada_narrate_feed_open(struct ada_story *story, struct ada_calls *calls, const struct ada_thread *thread, uint64_t first);
void ada_narrate_unusual(struct ada_story *story, const struct ada_recorded_window *window);
void ada_narrate_errors(struct ada_story *story, const struct ada_recorded_window *window);
void ada_narrate_new_callers(struct ada_story *story, const struct ada_recorded_window *window);
/* `later`: not the window's first mark, so sentences say which mark they mean; `told`: how its thread went on to the window's end was
 * told with an earlier mark. */
void ada_narrate_followed(struct ada_story *story, const struct ada_mark_place *place, bool later, bool told);
/* `told_ns`: the moment for which the other threads' doings were told already; 0: none. */
void ada_narrate_crash(struct ada_story *story, const struct ada_crash_cause *cause, uint64_t told_ns);
void ada_narrate_crash_frames(struct ada_story *story, const struct ada_crash_cause *cause);
void ada_narrate_crash_registers(struct ada_story *story, const struct ada_process *process);
#endif
