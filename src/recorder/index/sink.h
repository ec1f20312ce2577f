/* Where the index files' blocks go: io_uring, with O_DIRECT where the filesystem takes it; pwrite where there is no ring. */
#ifndef ADA_RECORDER_SINK_H
#define ADA_RECORDER_SINK_H
#include <stdbool.h>
#include "atf.h"
#include "base/error.h"

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
void ada_sink_poll(struct ada_sink *sink);    /* submits what is queued, takes what is done: no waiting */
bool ada_sink_release(struct ada_sink *sink); /* waits for files that are being made durable and closed; false: there were none */
/* Waits for everything, closes all files. 0, or the first -errno of a file that could not be made durable. */
int ada_sink_close(struct ada_sink *sink);
#endif
