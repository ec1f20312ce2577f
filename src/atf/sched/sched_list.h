/* The files of a lane, by its name, "sched" or "samples": NAME.atf alone, or where the oldest of it go, a list NAME.N.atf without gaps.
 *
 *   sched.4.atf   sched.5.atf   sched.6.atf      0 to 3 have gone; the last is being written, or was when the recording ended
 *   sched.kept.1.atf                             of those that have gone, what windows want
 */
#ifndef ADA_ATF_SCHED_LIST_H
#define ADA_ATF_SCHED_LIST_H
#include <limits.h>
#include "atf/sched/sched.h"
#include "base/array.h"

#pragma GCC visibility push(hidden) /* as sched.h */

struct atf_sched_names {
	bool plain;	     /* it is NAME.atf */
	uint32_t first, end; /* else: numbers of the list; end is not of it */
	uint32_t missing;    /* how many within are not there */
};
/* False: the directory has no such file. */
bool atf_sched_names_find(struct atf_sched_names *names, const char *directory, const char *name);
/* The file's own name, below its directory; `number`: from `first` on. */
void atf_sched_name(char file[NAME_MAX], const struct atf_sched_names *names, const char *name, uint32_t number);

typedef ADA_ARRAY(uint32_t) atf_sched_numbers;
/* Those of NAME.kept.N.atf, in order; to be freed also where it fails. */
int atf_sched_kept_find(atf_sched_numbers *numbers, const char *directory, const char *name);
void atf_sched_kept_name(char file[NAME_MAX], const char *name, uint32_t number);

struct atf_sched_list;
/* All of them as one, kept ones first. 0 and NULL where there is none; the message is as of atf_sched_open. */
int atf_sched_list_open(struct atf_sched_list **list, const char *directory, const char *name, struct atf_message *message);
void atf_sched_list_close(struct atf_sched_list *list); /* NULL is fine */
bool atf_sched_list_damaged(const struct atf_sched_list *list);
/* Whether the oldest have gone: nothing is known of before the first event. NULL is fine. */
bool atf_sched_list_has_aged(const struct atf_sched_list *list);
/* Number of the first event of the list itself: those before it are of files that are kept. NULL is fine. */
uint64_t atf_sched_list_since(const struct atf_sched_list *list);
/* Number of the first event, from that one on, right before which files have gone that others are before; that of all events: none. */
uint64_t atf_sched_list_gap(const struct atf_sched_list *list, uint64_t from);
uint64_t atf_sched_list_count(const struct atf_sched_list *list);			    /* of events; NULL is fine */
const AtfSchedEvent *atf_sched_list_at(const struct atf_sched_list *list, uint64_t number); /* below that */

#pragma GCC visibility pop
#endif
