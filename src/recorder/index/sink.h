/* Where the index files' blocks go: io_uring, with O_DIRECT where the filesystem takes it; pwrite where there is no ring. */
#ifndef ADA_RECORDER_SINK_H
#define ADA_RECORDER_SINK_H
#include <stdbool.h>
#include "atf.h"
#include "base/error.h"

struct ada_packers;
struct ada_sink;

int ada_sink_open(struct ada_sink **sink, bool no_ring); /* no_ring: for tests; else a ring where there can be one */
/* From here on, blocks of files with an owner lie in the arena: ada_sink_owner. */
struct ada_arena_writer;
void ada_sink_use_arena(struct ada_sink *sink, struct ada_arena_writer *arena);
static inline uint64_t ada_sink_owner(uint32_t note, uint32_t segment)
{
	return note ? (uint64_t)note << 32 | segment : 0;
}
struct atf_sink *ada_sink_atf(struct ada_sink *sink);
/* From here on a disk that fails is waited for (trouble.h). */
void ada_sink_be_patient(struct ada_sink *sink);
bool ada_sink_troubled(const struct ada_sink *sink); /* nothing should be written now: not where it insists. NULL: false */
/* From here on what its workers write is the sink's to retry. */
void ada_sink_use_packers(struct ada_sink *sink, struct ada_packers *packers);
/* The disk was what kept its callers waiting, for a good part of some time, or was given more than disks take for long. NULL: false */
bool ada_sink_holds_up(const struct ada_sink *sink);
/* A failure met elsewhere, -errno. True: the same may work later, and the sink is troubled until then. NULL: false */
bool ada_sink_trouble(struct ada_sink *sink, int error);
void ada_sink_insist(struct ada_sink *sink, bool insists);	       /* NULL: nothing */
const struct ada_trouble *ada_sink_story(const struct ada_sink *sink); /* NULL: there never was any */
void ada_sink_poll(struct ada_sink *sink);			       /* submits what is queued, takes what is done: no waiting */
void ada_sink_retry(struct ada_sink *sink);   /* where it is time, tries again what is held: a few blocks at a time */
bool ada_sink_release(struct ada_sink *sink); /* waits for files that are being made durable and closed; false: there were none */
/* Waits for everything, closes all files. 0, or the first -errno of a file that could not be made durable. */
int ada_sink_close(struct ada_sink *sink);
#endif
