/* What the budget knows of each function of one process, and the stretches of time in which hooks are out. */
#ifndef ADA_RECORDER_BUDGET_LINES_H
#define ADA_RECORDER_BUDGET_LINES_H
#include "base/hash.h"
#include "recorder/budget/decide.h"
#include "recorder/budget/flip.h"
#include "recorder/budget/words.h"

#define ADA_MUTES_MAX 20000u /* stretches; beyond, a function's stretches become one */

struct ada_budget_line {
	uint64_t function_id;
	struct ada_words words;
	bool on_path;	       /* a settled window names it: it stays */
	bool expected;	       /* it is to go out whatever it costs here, as soon as there is a stop with time for it (learned.h) */
	double calls_a_second; /* in the child for whose sake it is out, or is to go out, before it went there; else 0 */
	bool found;	       /* its words are there */
	/* Where a stop had no time for all of its words: what it is to become, and from which word on; else STAY. Until it is done it is muted. */
	enum ada_verdict unfinished;
	size_t reached;
	bool hushed;	 /* its hook lets calls pass, whether its words are in or out: `unfinished` until these are out */
	bool whole;	 /* where it is hushed: all words are in */
	bool passes;	 /* it was hushed once: what words it has doesn't keep it in */
	bool looked_for; /* whether rules or --keep name it is known, as of the policy's version */
	enum ada_fixed fixed;
	uint32_t loads; /* how often its module had been loaded when its hook was taken out */
	size_t mute;	/* its latest stretch, counted from 1; 0: none */
};
struct ada_budget {
	struct ada_provider *provider;
	struct ada_text text;
	uint64_t text_stamp; /* of the modules that text has seen */
	ADA_ARRAY(struct ada_budget_function) functions;
	ADA_ARRAY(struct ada_budget_line) lines; /* of the same functions */
	struct ada_table by_id;			 /* function id -> position */
	struct ada_decider decider;
	uint32_t policy_version;
	uint64_t start_ns; /* when it began */
	struct ada_pace pace;
	uint64_t next_ns;    /* the next look isn't before */
	size_t children;     /* by fork, that had a budget's turn */
	bool heirs_changed;  /* one has let go of something since this process, their parent, looked at that */
	bool heirs_find_few; /* the last one that looked for calls which are made late found next to none */
	uint64_t stopped_ns; /* when it was last stopped; 0: never */
	bool settling;	     /* what was recorded before the last change is still to be drained */
	uint64_t base_ns, base_cpu_ns, base_events, base_lost; /* the last look */
	unsigned failures;				       /* in a row */
	uint64_t history_ns;				       /* when its history of detail got wider last */
	bool given_up, learnt;
	uint64_t calls_age_ns;		/* how old it is when calls that were made since are looked for next; 0: it was never */
	uint64_t hushed_ns, waiting_ns; /* when the last was hushed; and the first since the last stop, 0: none was */
	uint64_t windows_ns;		/* windows that begin earlier have been looked at */
	unsigned windows_missed;	/* that were waited for in vain */
	uint64_t windows_since_ns;	/* since when the next one is waited for; 0: it isn't */
	uint64_t returned;		/* hooks that had come back by the last look */
	uint64_t told; /* what its parent was told of last: stops' left and returned, windows_ns and calls_age_ns, together */
	uint64_t random;
};

/* 0 or -errno; frees all that it made. A fork's child begins with what its parent had out. -EAGAIN: the process isn't this image yet, or not
 * any more. `ended`: its memory isn't opened. */
int ada_budget_open(struct ada_budget **budget, struct ada_provider *provider, bool ended);
void ada_budget_free(struct ada_budget *budget);
/* The position of a function's line, which is made where there is none; SIZE_MAX: no memory. */
size_t ada_budget_line_of(struct ada_budget *budget, uint64_t function_id);
/* Looks at the modules again, where any has come or gone. Hooks of a module that came anew are in. */
void ada_budget_follow_modules(struct ada_budget *budget);
/* Whether rules and --keep name it, where that isn't known. False: it can't be known now. */
bool ada_budget_look_up(struct ada_budget *budget, size_t position);
bool ada_budget_find(struct ada_budget *budget, size_t position); /* its words. False: none of them is to go out (`fixed`) */
/* False: it has none, or there is no memory. */
bool ada_budget_copy_words(struct ada_budget_line *line, const struct ada_budget_line *from);
/* Of a function that is out in both, with the code at the same place: adds what that one's has and this one's lacks, which is to go out, too, as
 * far as it leads to the function's hook in this process, too (`text`; NULL, for tests: believes it). */
void ada_budget_merge_words(struct ada_budget_line *line, const struct ada_budget_line *from, const struct ada_text *text);
/* Its hook is in again since then; or it is known to be by now. */
void ada_budget_unmute(struct ada_budget *budget, size_t position, uint64_t ns);
/* Its hook went out, or came back, by what this process's budget has done: that is counted, too. */
void ada_budget_left(struct ada_budget *budget, size_t position, uint64_t from_ns, uint64_t to_ns, double calls_per_event);
void ada_budget_returned(struct ada_budget *budget, size_t position, uint64_t ns);
/* Those that have settled since: what they name stays (paths.c). False: that isn't known yet, and nothing is to be taken out. */
bool ada_budget_note_windows(struct ada_budget *budget, uint64_t now_ns);
/* Runs the verdicts: out of which functions, back into which, as far as one stop of `limit_ns` goes.
 * `calls_per_event` turns events of the last look into calls a second. */
void ada_budget_change(struct ada_budget *budget, uint64_t limit_ns, double calls_per_event);
/* What is to become of it: what was begun is ended, unless it is to become the contrary by now. A verdict that is done says nothing more. */
enum ada_verdict ada_budget_wanted(const struct ada_budget *budget, size_t position);
static inline void ada_stops_add(uint64_t *word, uint64_t more) /* of struct ada_stops, which others read meanwhile */
{
	__atomic_store_n(word, *word + more, __ATOMIC_RELAXED);
}
/* How old a process is when it looks for calls that were made late (ns); then ADA_CALLS_GROW times as old each time. To find that there are none
 * takes 10 ms of CPU time of one that has let go of 900 functions: where a sibling found next to none, it is later. */
#define ADA_CALLS_GROW 4
uint64_t ada_calls_age(const struct ada_budget *budget);
/* It looked for calls of so many functions, and found so many. */
void ada_calls_found(struct ada_budget *budget, size_t functions, size_t calls);
void ada_calls_follow(struct ada_budget *budget, uint64_t now_ns); /* calls.c: looks for them, where it is old enough */
/* hush.c: runs those that need no stop. What leaves is muted from now on, and its words are to go out when there is time. */
void ada_budget_hush(struct ada_budget *budget, double calls_per_event);
void ada_budget_unhush(struct ada_budget *budget, size_t position);
bool ada_budget_is_hushed(const struct ada_budget *budget, size_t position);	 /* and nothing else: none of its words is out */
bool ada_budget_lacks_words(const struct ada_budget *budget, size_t position);	 /* it is hushed, and nobody has looked for its words yet */
double ada_budget_hushed_cost(const struct ada_budget *budget, size_t position); /* what its calls cost that pass, as a share; else 0 */
/* By how much these costs together exceed that part of what is worth a stop. */
double ada_budget_hushed_excess(const struct ada_budget *budget, double part);
/* Is there anything to be done in a stop that is worth one? */
bool ada_budget_wants_stop(const struct ada_budget *budget, uint64_t now_ns);
#endif
