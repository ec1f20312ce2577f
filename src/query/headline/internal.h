/* Parts of a headline's sentence: words.c, waited.c. */
#ifndef ADA_QUERY_HEADLINE_INTERNAL_H
#define ADA_QUERY_HEADLINE_INTERNAL_H
#include "query/headline/headline.h"

void ada_headline_put_path(struct ada_story *story, FILE *stream, const struct ada_process *process, const struct ada_stack *path);
/* The same with arguments. */
void ada_headline_put_calls(struct ada_story *story, FILE *stream, const struct ada_cause *cause, const struct ada_thread *thread,
			    const struct ada_stack *path);
void ada_headline_put_object(struct ada_story *story, FILE *stream, const struct ada_cause_link *link); /* "mutex 0x7f..." */
/* Whether page faults are most of what ran, or may be much of it; then how many. */
bool ada_headline_has_faults(const struct ada_story *story, const struct ada_cause_link *link);
void ada_headline_put_faults(const struct ada_story *story, FILE *stream, const struct ada_cause_link *link);

/* What follows "they" or "thread 2". `open`: the wait goes on. */
void ada_headline_put_lock(struct ada_story *story, FILE *stream, const struct ada_cause *cause, bool open);
void ada_headline_put_deadlock(struct ada_story *story, FILE *stream, const struct ada_cause *cause);
/* Nothing where nobody is known to have ended the wait. */
void ada_headline_put_writer(struct ada_story *story, FILE *stream, const struct ada_cause *cause);
void ada_headline_put_condition(struct ada_story *story, FILE *stream, const struct ada_cause *cause, bool open);
void ada_headline_put_preempted(struct ada_story *story, FILE *stream, const struct ada_cause *cause, bool open, bool several);

/* " panicked on thread 1 at story.rs:7:5: no such thing" */
void ada_headline_put_panic(FILE *stream, uint32_t thread, const char *file, uint64_t line, uint64_t column, const char *text);
/* A sentence of the evidence, behind the opening. */
void ada_headline_tell_other(struct ada_story *story, const struct ada_headline *other, const char *opening);
/* " 2 more windows are like it, ..." */
void ada_headline_put_alike(FILE *stream, const struct ada_headline *headline);
void ada_headline_panic_find(struct ada_story *story, struct ada_headline *headline); /* panic.c */
void ada_headline_panic_tell(struct ada_story *story, const struct ada_headline *headline);
#endif
