/* Opening the files of a process's threads while its manifest is parsed, which takes as long where they are thousands.
 *
 * It is done on a guess at whether the process is finalized, so what comes of it is only taken where it is what opening by the
 * manifest gives: of a finalized process, as many files as the manifest says, none of them cut off; of another, where the manifest
 * doesn't say how many. Everything else is opened anew, when the manifest is known. */
#ifndef ADA_QUERY_AHEAD_H
#define ADA_QUERY_AHEAD_H
#include <stddef.h>
#include <stdint.h>
#include "atf.h"

struct ada_ahead;
/* `numbers`: of the threads in `directory`, rising; they stay the caller's, until the end. `manifest`: its text, read before (the files
 * may still grow, and must hold what it speaks of), or NULL. NULL: there is nothing to gain, or no memory for it. */
struct ada_ahead *ada_ahead_start(const char *directory, const uint32_t *numbers, size_t count, const char *manifest);
/* Helps until all is open. */
void ada_ahead_wait(struct ada_ahead *ahead);
/* The thread's files, now the caller's, and what is said of them when they are opened: by atf_thread_open_known, if there are
 * `segments`, or for 0 by atf_thread_open. NULL: not so, or not so simple. Not before the wait. */
struct atf_thread *ada_ahead_take(struct ada_ahead *ahead, uint32_t number, uint32_t segments, struct atf_message *message);
void ada_ahead_end(struct ada_ahead *ahead); /* also of NULL */
#endif
