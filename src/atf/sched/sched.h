/* Files of the scheduling lane, sched.atf: writer, reader, checks, recovery. Layout: abi/sched.h. Errors as in atf.h. */
#ifndef ADA_ATF_SCHED_H
#define ADA_ATF_SCHED_H
#include "abi/sched.h"
#include "atf/ground/ground.h"

#pragma GCC visibility push(hidden) /* no part of libatf's public API yet */

struct atf_sched_writer;
/* A new file, 0600. */
int atf_sched_writer_open(struct atf_sched_writer **writer, const char *path, uint32_t cpus, uint32_t flags);
/* Writes them at once, and raises times that fall to the one before. Once it has failed, all further calls do. */
int atf_sched_writer_append(struct atf_sched_writer *writer, AtfSchedEvent *events, size_t count);
/* Footer, header, fsync; and frees. Where there was no room: whole batches that were written are all that is in the file, with a footer or
 * without. */
int atf_sched_writer_close(struct atf_sched_writer *writer);
int atf_sched_writer_leave(struct atf_sched_writer *writer); /* as close, without fsync */

struct atf_sched;
/* On success the message says why the file is not complete, and is "" where it is. */
int atf_sched_open(struct atf_sched **sched, const char *path, struct atf_message *message);
void atf_sched_close(struct atf_sched *sched);
enum atf_completeness atf_sched_completeness(const struct atf_sched *sched);
const AtfSchedEvent *atf_sched_events(const struct atf_sched *sched, uint64_t *count);
/* Every check there is, as atf_index_verify. */
int atf_sched_verify(const char *path, atf_finding *found, void *context);
/* Gives a file without a footer its footer and header. 0 also where it has them. */
int atf_sched_recover(const char *path, struct atf_message *message);

struct atf_sched { /* the reader's own */
	struct atf_mapping mapping;
	enum atf_completeness completeness;
	uint64_t count;
};

#pragma GCC visibility pop
#endif
