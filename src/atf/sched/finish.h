/* What writer and recovery of sched.atf share. */
#ifndef ADA_ATF_SCHED_FINISH_H
#define ADA_ATF_SCHED_FINISH_H
#include "atf/sched/sched.h"

#pragma GCC visibility push(hidden)
void atf_sched_header_start(AtfSchedHeader *header, uint32_t cpus, uint32_t flags);
/* Footer, then header. 0 or -errno: no part of the footer stays then. */
int atf_sched_finish(int fd, const AtfSchedHeader *header, const struct atf_summary *summary);
#pragma GCC visibility pop
#endif
