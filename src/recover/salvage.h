/* What a dead recorder's shared memory still holds, for the parts of a recovery: abi/arena.h says what is where.
 *
 *   salvage.c          which processes, in which order; what is told of them
 *   salvage_files.c    a thread's file: what of it counts, and the blocks that were not written yet
 *   salvage_chunks.c   the events that nobody had taken out of a segment, into files of their own behind those
 *   salvage_first.c    the manifest of a process whose recorder had written none
 *
 * The arena says what of the files counts, and nothing here changes the arena: whatever came behind that is taken back and done anew. So
 * a recovery that was interrupted simply begins again.
 */
#ifndef ADA_RECOVER_SALVAGE_H
#define ADA_RECOVER_SALVAGE_H
#include "recorder/index/arena.h"
#include "recorder/index/drain.h"
#include "recorder/index/sink.h"
#include "recover/internal.h"

/* A thread's note, and its blocks that are not in the file. */
struct ada_salvage_note {
	uint32_t provider, id, lane;
};
struct ada_salvage_block {
	uint64_t lane;
	uint32_t block;
};

struct ada_salvage {
	struct ada_recovery *recovery;
	struct ada_shared shared;
	struct ada_arena_map map;
	struct ada_clock *clock;
	struct ada_sink *sink;
	struct ada_drain *drain;		    /* that is being emptied */
	ADA_ARRAY(struct ada_salvage_note) notes;   /* by provider and id */
	ADA_ARRAY(struct ada_salvage_block) blocks; /* by lane */
};

struct ada_salvage_process {
	struct ada_salvage *salvage;
	const struct ada_arena_provider *note;
	uint32_t number;
	char path[PATH_MAX];
	const struct ada_salvage_note *notes;
	size_t note_count;
	struct ada_salvaged *result;
	bool has_events;
};

/* All of these return 0, or -errno for a failure that may not come again. */
int ada_salvage_files(const struct ada_salvage_process *process, struct ada_error *error);
int ada_salvage_chunks(struct ada_salvage_process *process, struct ada_error *error);
int ada_salvage_first_manifest(const struct ada_salvage_process *process, const struct ada_segment *segment, struct ada_error *error);
#endif
