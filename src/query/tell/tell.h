/* How a narrative is told: its sentences, their words, what is usual, and where events are missing. Without memory sentences go nowhere
 * and `result` says so. */
#ifndef ADA_QUERY_TELL_H
#define ADA_QUERY_TELL_H
#include <stdio.h>
#include "base/units.h"
#include "query/calls/calls.h"
#include "query/calls/stack.h"
#include "query/session/name_list.h"
#include "query/sums/edges.h"
#include "query/tally/stats.h"
#include "query/tell/narrative.h"

/* What is usual for a function in the whole recording. */
struct ada_norm {
	uint64_t key;	/* ada_process_function_key */
	uint64_t calls; /* whose duration is known */
	uint64_t p50_ns, high_ns;
	const char *high;  /* which percentile high_ns is: "p99", of few calls "p90" */
	uint64_t limit_ns; /* a longer call is unusual; UINT64_MAX: too few calls to say */
};

#define ADA_LOSSES_KEPT 4096
struct ada_thread_losses {
	const struct ada_thread *thread;
	ADA_ARRAY(uint64_t) positions; /* of the thread's LOST records: the first ADA_LOSSES_KEPT */
	uint64_t count, lost;	       /* number of all of them; events that they stand for */
	uint64_t largest, largest_position;
};

struct ada_checkpoint {
	uint64_t position, first, count;
	bool after_loss;
};			       /* the calls open before that event are among `frames` */
struct ada_stack_track {       /* of a thread: stack.c */
	uint64_t position;     /* read up to here */
	struct ada_stack open; /* there */
	ADA_ARRAY(struct ada_checkpoint) checkpoints;
	ADA_ARRAY(struct ada_frame) frames;
};

struct ada_story {
	struct ada_narrative *narrative;
	const struct ada_session *session;
	const struct ada_selection *selection;
	struct ada_narrate_options options;
	struct ada_name_list names;
	struct ada_stats stats; /* of the whole recording, as all of these; ask ada_narrate_stats and ada_narrate_edges */
	bool has_stats, has_edges;
	struct ada_table norm_numbers;
	ADA_ARRAY(struct ada_norm) norms;
	struct ada_edges edges;
	ADA_ARRAY(bool) selects;			/* by thread of the session: whether `selection` has it */
	ADA_ARRAY(struct ada_thread_losses) losses;	/* by thread of the session */
	ADA_ARRAY(struct ada_stack_track) tracks;	/* by thread of the session; none until first asked */
	ADA_ARRAY(const struct ada_module *) libraries; /* of which it was told that they are not recorded */
	int result;					/* 0 or the first -errno */
};

/* --- telling: tell.c ------------------------------------------------------------------------------------------ */

void ada_narrate_section(struct ada_story *story, const struct ada_process *process, uint64_t window, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Whether text will leave out what isn't told of windows where not all is asked for: there is a window's section already. */
bool ada_narrate_leaves_out(const struct ada_story *story);
/* Adds a sentence to the last section; the next citations are its evidence. */
void ada_narrate_say(struct ada_story *story, const char *kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Gives the last sentence its cause, which is malloc'ed; NULL: there was no memory for it. */
void ada_narrate_attach_cause(struct ada_story *story, char *cause);
/* The same of a crash. */
void ada_narrate_attach_crash(struct ada_story *story, char *crash);
void ada_narrate_cite(struct ada_story *story, const struct ada_thread *thread, uint64_t first, uint64_t last);
void ada_narrate_cite_file(struct ada_story *story, const struct ada_process *process, const char *file, const char *field, ...)
	__attribute__((format(printf, 4, 5)));
/* Cites all that the thread recorded in the time selected, if it recorded anything. */
void ada_narrate_cite_thread(struct ada_story *story, const struct ada_thread *thread);

/* A sentence in pieces: fprintf to ->stream, which is NULL without memory (then false). */
struct ada_telling {
	FILE *stream;
	char *text;
	size_t length;
};
bool ada_telling_open(struct ada_story *story, struct ada_telling *telling);
void ada_telling_say(struct ada_story *story, const char *kind, struct ada_telling *telling);

/* --- words ------------------------------------------------------------------------------------------------------------ */

#define ADA_WORDS 64
char *ada_words_time(const struct ada_story *story, uint64_t ns, char text[ADA_WORDS]); /* "+0.091011549s", as --from takes it */
char *ada_words_signal(int number, char text[ADA_WORDS]);				/* "SIGSEGV" */
char *ada_words_percent(double share, char text[ADA_WORDS]);				/* "5.03 %" */
static inline const char *ada_words_s(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* "thread 2 (keeper)", seen from the thread `by`: with its name where that is its own. */
char *ada_words_thread(const struct ada_thread *by, const struct ada_thread *thread, char text[ADA_WORDS]);
const char *ada_words_file(const char *path); /* without its directories */

#define ADA_WORDS_NAME 400
/* Name of a function, cut if long, with its source line where that is known: "work (story.c:27)". */
char *ada_words_function(struct ada_story *story, const struct ada_process *process, uint64_t id, char text[ADA_WORDS_NAME]);
char *ada_words_source(struct ada_story *story, const struct ada_process *process, uint64_t id, char text[ADA_WORDS_NAME]);
/* Tells open calls, outermost first: "main > work > leaf", of a deep stack both ends. Each has the line where it calls the next one, where
 * that is known, the innermost one `last`; else the line where its function begins. */
struct ada_debug_line;
void ada_words_stack(struct ada_story *story, const struct ada_thread *thread, const struct ada_stack *stack,
		     const struct ada_debug_line *last, FILE *stream);
/* Where events are missing between the beginning of the first of these calls and `position`: says that it may have been otherwise. */
void ada_words_doubt(struct ada_story *story, const struct ada_thread *thread, uint64_t first, uint64_t position, FILE *stream);
void ada_narrate_cite_stack(struct ada_story *story, const struct ada_thread *thread, const struct ada_stack *stack);

/* Of a function in which a story ends: where it is a library's whose functions were not recorded, says how to see what it does. Once a
 * library; libc and the like are left out. */
void ada_narrate_library(struct ada_story *story, const struct ada_process *process, uint64_t function_id);

/* Where --exclude leaves out functions that threads wait in, says that nobody knows who waits there. */
void ada_narrate_excluded(struct ada_story *story);

/* --- what is known: norms.c, losses.c ------------------------------------------------------------------ */

/* Of the whole recording, computed when first asked for. Without memory they are empty, and story->result says so. */
struct ada_stats *ada_narrate_stats(struct ada_story *story);
const struct ada_edges *ada_narrate_edges(struct ada_story *story);
void ada_narrate_forget(struct ada_story *story);
const struct ada_norm *ada_narrate_norm(struct ada_story *story, const struct ada_process *process, uint64_t id);
int ada_narrate_find_losses(struct ada_story *story);
/* Whether events of the thread may be missing between two of its positions. */
bool ada_narrate_lost_between(const struct ada_story *story, const struct ada_thread *thread, uint64_t from, uint64_t to);
void ada_narrate_losses(struct ada_story *story, const struct ada_process *process);
/* As ada_stack_at, but each question has a bounded price. */
int ada_narrate_stack(struct ada_story *story, struct ada_stack *stack, const struct ada_thread *thread, uint64_t position);
void ada_narrate_close_tracks(struct ada_story *story);

/* --- what was asked for: tell.c */
/* The events of a thread in a window and in the time selected: [*first, *end). False: none. */
bool ada_narrate_range(const struct ada_story *story, const struct ada_thread *thread, const struct ada_recorded_window *window,
		       uint64_t *first, uint64_t *end);
int ada_narrate_select(struct ada_story *story); /* before anything else, once `selection` is known. 0 or -ENOMEM */
bool ada_narrate_selects_thread(const struct ada_story *story, const struct ada_thread *thread);
bool ada_narrate_selects_process(const struct ada_story *story, const struct ada_process *process);
#endif
