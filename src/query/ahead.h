/* Opening the files of a finalized process's threads while its manifest is parsed, which takes as long where they are thousands.
 *
 * It is done on a guess, so what comes of it is only taken where it is what opening by the manifest gives: of a finalized process,
 * as many files as the manifest says, none of them cut off. Everything else is opened anew, when the manifest is known. */
#ifndef ADA_QUERY_AHEAD_H
#define ADA_QUERY_AHEAD_H
#include <stddef.h>
#include <stdint.h>
#include "atf.h"

struct ada_ahead;
/* `numbers`: of the threads in `directory`, rising; they stay the caller's, until the end. NULL: there is nothing to gain, or no
 * memory for it. */
struct ada_ahead *ada_ahead_start(const char *directory, const uint32_t *numbers, size_t count);
/* Helps until all is open. */
void ada_ahead_wait(struct ada_ahead *ahead);
/* The thread's files, now the caller's, and what atf_thread_open_known says of them, if there are `segments`; NULL: not so, or not
 * so simple. Not before the wait. */
struct atf_thread *ada_ahead_take(struct ada_ahead *ahead, uint32_t number, uint32_t segments, struct atf_message *message);
void ada_ahead_end(struct ada_ahead *ahead);		/* also of NULL */
#endif
