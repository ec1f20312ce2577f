/* What the packed blocks of a thread's segments know that its events tell only one by one. Positions are the thread's. */
#ifndef ADA_ATF_THREAD_H
#define ADA_ATF_THREAD_H
#include "abi/totals.h"
#include "atf/index/index.h"

#pragma GCC visibility push(hidden)

/* As atf_packed_walk_open; false also where the event isn't packed. */
bool atf_thread_walk(const struct atf_thread *thread, struct atf_packed_walk *walk, uint64_t position, uint64_t most);
/* The events [from, to), all of which there are, are about to be read: what of them is packed is read from the disk meanwhile. A decoder that
 * waits for the pages that it touches waits half as long as it works, for a page holds five thousand events. Of plain files nothing is asked
 * for: a page there holds 128 events, and the disk is what takes the time. */
void atf_thread_ahead(const struct atf_thread *thread, uint64_t from, uint64_t to);
/* Where the packed block of this event begins; the position itself, where the event isn't packed. */
uint64_t atf_thread_block(const struct atf_thread *thread, uint64_t position);
/* From where on all events before this position are known, without reading them, to be CALL, RETURN or EXCEPTION; itself: none is. */
uint64_t atf_thread_calls_from(const struct atf_thread *thread, uint64_t position);
/* The calls that are open where the event's block begins, and where that is. The calls' positions are those of the thread too; negative
 * where a call began before its first event. 0; -ATF_ERROR_INVALID: the event isn't packed; -ATF_ERROR_CORRUPT, -ATF_ERROR_MEMORY. */
int atf_thread_open_calls(const struct atf_thread *thread, uint64_t position, struct atf_packed_open_calls *open, uint64_t *from);

/* --- totals ------------------------------------------------------------------------------------------------------------- */

int atf_totals_path(char *path, size_t size, const char *directory);
/* *totals is malloc'ed, and sound: the whole file, the header first. NULL and 0: there is none. -ATF_ERROR_SYSTEM, -ATF_ERROR_CORRUPT. */
int atf_totals_read(AtfTotalsHeader **totals, const char *directory);
/* The segments before `border` that have not gone, all of which are complete, while the thread is recorded. */
int atf_thread_open_closed(struct atf_thread **thread, const char *directory, uint32_t border, struct atf_message *message);
int atf_sums_path(char *path, size_t size, const char *directory);
/* What the thread's first events add up to, though they are there: its file `sums`, whole and malloc'ed. *position: of the first event that
 * isn't in there. NULL and 0: there is none. -ATF_ERROR_CORRUPT: it is damaged, or no one of this thread's; -ATF_ERROR_SYSTEM. */
int atf_thread_sums(const struct atf_thread *thread, AtfTotalsHeader **sums, uint64_t *position);
bool atf_totals_are_sound(const void *bytes, uint64_t size); /* sizes and checksums */
void atf_totals_seal(AtfTotalsHeader *header, const void *body, uint64_t body_bytes);
/* What the thread's segments before the first one that is there added up to: the whole file. NULL: there were none, or nobody knows. */
const AtfTotalsHeader *atf_thread_totals(const struct atf_thread *thread);
/* The number of the first segment that is there and not in totals. Those before it are empty ones here, but for those that were kept, and
 * for one LOST record of 0 events behind each row of these, where others have gone. */
uint32_t atf_thread_first_segment(const struct atf_thread *thread);
/* The position of that segment's first event: what lies before it is in totals, too. */
uint64_t atf_thread_live(const struct atf_thread *thread);
/* From where on no event has gone up to this one. */
uint64_t atf_thread_begin(const struct atf_thread *thread, uint64_t position);
int atf_kept_path(char *path, size_t size, const char *directory, uint32_t segment); /* of a segment that was kept */

#pragma GCC visibility pop
#endif
