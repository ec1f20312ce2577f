/* Opens the files of a process's threads while its manifest is parsed: with thousands of threads each takes as long.
 *
 * This rests on a guess whether the process is finalized, so the result counts only where opening by the manifest would give the same: of
 * a finalized process, as many files as the manifest says, none of them cut off; of another process, where the manifest doesn't say how
 * many. Everything else is opened anew, once the manifest is known. */
#ifndef ADA_QUERY_AHEAD_H
#define ADA_QUERY_AHEAD_H
#include <stddef.h>
#include <stdint.h>
#include "atf.h"

struct ada_ahead;
/* `numbers`: of the threads in `directory`, rising; the caller keeps them until the end. `manifest`: its text, read before the files
 * (which may still grow, and must hold what the manifest speaks of), or NULL. Returns NULL where there is nothing to gain, or no
 * memory. */
struct ada_ahead *ada_ahead_start(const char *directory, const uint32_t *numbers, size_t count, const char *manifest);
/* Helps until all is open. */
void ada_ahead_wait(struct ada_ahead *ahead);
/* Hands the thread's files to the caller, with the message that opening them gives: atf_thread_open_known for `segments`, atf_thread_open
 * for 0. NULL: the guess was wrong, or the case isn't so simple. Call it only after the wait. */
struct atf_thread *ada_ahead_take(struct ada_ahead *ahead, uint32_t number, uint32_t segments, struct atf_message *message);
void ada_ahead_end(struct ada_ahead *ahead); /* also of NULL */
#endif
