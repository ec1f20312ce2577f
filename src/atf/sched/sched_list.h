/* The files of a lane, by its name, "sched" or "samples": NAME.atf alone, or where the oldest of it go, a list NAME.N.atf without gaps.
 *
 *   sched.4.atf   sched.5.atf   sched.6.atf      0 to 3 have gone; the last is being written, or was when the recording ended
 */
#ifndef ADA_ATF_SCHED_LIST_H
#define ADA_ATF_SCHED_LIST_H
#include <limits.h>
#include "atf/sched/sched.h"

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

struct atf_sched_list;
/* All of them as one. 0 and NULL where there is none; the message is as of atf_sched_open. */
int atf_sched_list_open(struct atf_sched_list **list, const char *directory, const char *name, struct atf_message *message);
void atf_sched_list_close(struct atf_sched_list *list); /* NULL is fine */
bool atf_sched_list_damaged(const struct atf_sched_list *list);
/* Whether the oldest have gone: nothing is known of before the first event. NULL is fine. */
bool atf_sched_list_has_aged(const struct atf_sched_list *list);
uint64_t atf_sched_list_count(const struct atf_sched_list *list);			    /* of events; NULL is fine */
const AtfSchedEvent *atf_sched_list_at(const struct atf_sched_list *list, uint64_t number); /* below that */

#pragma GCC visibility pop
#endif
