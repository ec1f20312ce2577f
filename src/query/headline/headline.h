/* A window's headline: what is to blame, in a sentence, and the sentences that bear it out. */
#ifndef ADA_QUERY_HEADLINE_H
#define ADA_QUERY_HEADLINE_H
#include "query/cause/cause.h"
#include "query/crash/crash.h"
#include "query/rust/rust.h"
#include "query/session/windows.h"
#include "query/tell/tell.h"

struct ada_headline_panic {		 /* the first one that marked the window */
	const struct ada_thread *thread; /* NULL: none did */
	uint64_t position, function_id;	 /* of its mark; who panicked */
	uint64_t count;
	struct ada_panic what;
};

struct ada_headline {		/* of a window */
	struct ada_cause cause; /* of its slowest marked call, or of its hang */
	bool found;
	uint64_t window;		 /* number in the session; ADA_NO_WINDOW: of a process that hangs, and that nobody marked */
	uint64_t took_ns, key;		 /* key: the same for causes that are alike; 0: none */
	uint64_t calls;			 /* of those asked for their cause, how many are alike */
	const json_object *mark;	 /* of the slowest, if its rule is about a time */
	uint64_t marked, asked;		 /* marks of the same functions; how many of them were asked, the slowest ones */
	bool more_marked;		 /* the window has more marks than the recording keeps */
	uint64_t more;			 /* further windows that are alike, */
	uint64_t more_first, more_last;	 /* the numbers of the first and the last of them */
	bool told;			 /* a window before is alike */
	bool has_section;		 /* it has been told */
	struct ada_crash_cause crash;	 /* of a window that holds one; else its process is NULL */
	struct ada_headline_panic panic; /* where no cause is found */
	bool is_span;			 /* of a rule from one call to another: the cause is of the time in between */
	struct ada_mark_span span;
	struct ada_headline *other; /* of marks of the same window that had another cause, the slowest; NULL: none worth a sentence */
};
/* Finds it; the caller frees it. Without a cause the headline tells the mark. */
void ada_headline_find(struct ada_story *story, struct ada_cause_reader *reader, uint64_t number, struct ada_headline *headline);
/* Whether it tells of a crash, although a cause was found: that is told beside it. Where the process gave up by itself (SIGABRT) for no mistake
 * that is known, as a watchdog does, it is the cause that tells why. */
bool ada_headline_is_of_crash(const struct ada_headline *headline);
/* ", on descriptor 7, a connection from 127.0.0.1:51234 (as it was at the mark)", of the open call that begins at `position`; "": not known. */
void ada_headline_put_waits_on(struct ada_story *story, FILE *stream, struct ada_cause_reader *reader, const struct ada_thread *thread,
			       uint64_t position, uint64_t now_ns);
void ada_headline_free(struct ada_headline *headline);
/* The columns of SQL's causes as a JSON object, "null" without a cause; malloc'ed, NULL: no memory. */
char *ada_headline_json(struct ada_story *story, struct ada_cause_reader *reader, const struct ada_headline *headline);
void ada_narrate_headline(struct ada_story *story, struct ada_cause_reader *reader, const struct ada_headline *headline);
/* The sentences that bear it out. */
void ada_narrate_cause(struct ada_story *story, const struct ada_headline *headline);

/* Why a process crashed; `first`: it is the window's headline. */
void ada_narrate_crash_cause(struct ada_story *story, const struct ada_crash_cause *cause, bool first);
/* " at address 0x8", where the manifest has one. */
void ada_crash_put_address(FILE *stream, const struct ada_process *process);
#endif
